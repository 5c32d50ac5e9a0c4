package pcap

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// Port is a packet.Port whose frames are recorded in both directions.
type Port struct {
	port    packet.Port
	file    *File
	records []byte // of the current burst
	ends    []int  // end of each frame's record in records
}

// Wrap returns a port that records the frames of port.
func (f *File) Wrap(port packet.Port) *Port { return &Port{port: port, file: f} }

// Info implements packet.Port.
func (p *Port) Info() packet.Info { return p.port.Info() }

// Alloc implements packet.Port.
func (p *Port) Alloc(bufs []packet.Buf) int { return p.port.Alloc(bufs) }

// Free implements packet.Port.
func (p *Port) Free(bufs []packet.Buf) { p.port.Free(bufs) }

// Recv implements packet.Port.
func (p *Port) Recv(bufs []packet.Buf) int {
	n := p.port.Recv(bufs)
	if n > 0 {
		p.gather(bufs[:n], p.file.now())
		p.file.write(p.records)
	}
	return n
}

// Send implements packet.Port. It copies the frames before it passes them to the port, and writes
// the records of those that the port accepts.
func (p *Port) Send(class packet.Class, bufs []packet.Buf) int {
	if len(bufs) == 0 {
		return p.port.Send(class, bufs)
	}
	p.gather(bufs, p.file.now())
	n := p.port.Send(class, bufs)
	if n > 0 {
		p.file.write(p.records[:p.ends[n-1]])
	}
	return n
}

func (p *Port) gather(bufs []packet.Buf, now units.Time) {
	p.records, p.ends = p.records[:0], p.ends[:0]
	for i := range bufs {
		p.records = p.file.appendRecord(p.records, bufs[i].Data(), now)
		p.ends = append(p.ends, len(p.records))
	}
}
