package fabric

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// stamp writes the port's state into the next free INT record of the packet (HPCC, SIGCOMM 2019,
// §3.1): the length of the frame's queue after its departure, and the bytes sent by all queues of
// the port.
func (s *Switch) stamp(out *Port, q *queue, f *frame) {
	extension.Stamp(wire.SwitchTLV(f.mem[:f.len]), extension.INTRecord{
		Port: uint16(out.id), Rate: out.rate, Time: s.net.now, Sent: units.Bytes(out.stats.Bytes),
		Queue: q.bytes,
	})
}
