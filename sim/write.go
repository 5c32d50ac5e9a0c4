package sim

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Write posts a WRITE of a size that belongs to no flow, for programs that keep queue pairs busy as
// perftest's do. Written is called when it has completed. A connection carries either such WRITEs
// or flows.
func (c *Conn) Write(bytes units.Bytes) error {
	n := c.From
	err := c.QP.PostSend(&transport.WorkRequest{
		ID: c.id, Op: transport.OpWrite, Signaled: true,
		SGList: []transport.SGE{{Addr: n.source.Addr, Length: uint32(bytes),
			LKey: n.source.LKey}},
		RemoteAddr: c.To.sink.Addr, RKey: c.To.sink.RKey,
	})
	n.Host.Wake()
	return err
}
