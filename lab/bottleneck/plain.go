package bottleneck

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// watch is what counts the frames of senders that are not plain RoCEv2.
func (r *Result) watch(plain bool, senders int) func(int, packet.Port) packet.Port {
	if !plain {
		return nil
	}
	return func(host int, p packet.Port) packet.Port {
		if host >= senders {
			return p
		}
		return &watcher{p, r}
	}
}

type watcher struct {
	packet.Port
	result *Result
}

// Send implements packet.Port.
func (w *watcher) Send(class packet.Class, bufs []packet.Buf) int {
	var foreign [packet.Burst]bool
	for i := range bufs {
		foreign[i] = isForeign(bufs[i].Data())
	}
	n := w.Port.Send(class, bufs)
	for _, f := range foreign[:n] {
		if f {
			w.result.Foreign++
		}
	}
	return n
}

// isForeign says whether a RoCEv2 frame has an opcode of the manufacturers, or sets what is
// reserved.
func isForeign(frame []byte) bool {
	var p wire.Packet
	if p.Parse(frame) != nil {
		return false // ARP
	}
	return p.Op >= 0xC0 || p.BTH().Reserved7() != 0 || p.BTH().Reserved6() != 0
}
