package fabric

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// stamp writes what the frame saw of the port into the next free INT record of its packet (HPCC,
// SIGCOMM 2019, §3.1): the queue behind it, and what the port has sent, of all queues.
func (s *Switch) stamp(out *Port, q *queue, f *frame) {
	wire.StampINT(f.mem[:f.len], wire.INTRecord{
		Port: uint16(out.id), Rate: out.rate, Time: s.net.now, Sent: units.Bytes(out.stats.Bytes),
		Queue: q.bytes,
	})
}
