package transport

import (
	"fmt"
	"os"

	"github.com/goroce/goroce/transport/wire"
)

func (l *link) trace(frame []byte, copies int) {
	if os.Getenv("TRACE") == "" {
		return
	}
	var p wire.Packet
	if err := p.Parse(frame); err != nil {
		fmt.Println(*l.now, l.name, err)
		return
	}
	x := ""
	if p.Op.Info().AETH {
		x = p.AETH().Syndrome.String()
	}
	if p.Op.Info().RETH {
		x = fmt.Sprint(p.RETH().Len.Get())
	}
	fmt.Println(*l.now, l.name, p.Op, p.PSN, "A", p.AckReq, "n", len(p.Payload()), x, "copies",
		copies, "icrc", p.ICRC())
}
