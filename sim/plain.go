package sim

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// foreignCounter counts frames that are not plain RoCEv2: with a manufacturer's opcode or with
// reserved bits set.
type foreignCounter struct {
	packet.Port
	count *int
}

// Send implements packet.Port.
func (f *foreignCounter) Send(class packet.Class, bufs []packet.Buf) int {
	var foreign [packet.Burst]bool
	for i := range bufs {
		foreign[i] = isForeign(bufs[i].Data())
	}
	n := f.Port.Send(class, bufs)
	for _, is := range foreign[:n] {
		if is {
			*f.count++
		}
	}
	return n
}

// isForeign reports whether a frame is RoCEv2 with extensions.
func isForeign(frame []byte) bool {
	var p wire.Packet
	if p.Parse(frame) != nil {
		return false // ARP
	}
	return p.Op >= 0xC0 || p.BTH().Ack&^wire.BTHAckReq != 0 ||
		p.BTH().Congestion&^(wire.BTHFECN|wire.BTHBECN) != 0
}
