package packet

import "github.com/goroce/goroce/units"

// Count is a number of frames and their bytes.
type Count struct {
	Frames uint64
	Bytes  units.Bytes // without the frame check sequence
}

func (c *Count) add(bufs []Buf) {
	c.Frames += uint64(len(bufs))
	for i := range bufs {
		c.Bytes += units.Bytes(bufs[i].Len())
	}
}

// Counts counts the frames and failed calls of a port.
type Counts struct {
	Received Count
	Sent     [Classes]Count // accepted by the port, by class

	ShortSends  uint64 // calls of Send that accepted fewer frames than offered
	Unsent      uint64 // frames that those calls did not accept
	ShortAllocs uint64 // calls of Alloc that returned fewer buffers than requested
	Unallocated uint64 // buffers that those calls did not return
}

// Total returns the sum of Sent over all classes.
func (c *Counts) Total() (sum Count) {
	for _, s := range c.Sent {
		sum.Frames += s.Frames
		sum.Bytes += s.Bytes
	}
	return sum
}

// Counters is a Port that counts the frames of the port it wraps.
type Counters struct {
	port   Port
	counts Counts
}

// NewCounters wraps a port.
func NewCounters(port Port) *Counters { return &Counters{port: port} }

// Counts returns the counts so far.
func (c *Counters) Counts() Counts { return c.counts }

// Info implements Port.
func (c *Counters) Info() Info { return c.port.Info() }

// Free implements Port.
func (c *Counters) Free(bufs []Buf) { c.port.Free(bufs) }

// Alloc implements Port.
func (c *Counters) Alloc(bufs []Buf) int {
	n := c.port.Alloc(bufs)
	if n < len(bufs) {
		c.counts.ShortAllocs++
		c.counts.Unallocated += uint64(len(bufs) - n)
	}
	return n
}

// Recv implements Port.
func (c *Counters) Recv(bufs []Buf) int {
	n := c.port.Recv(bufs)
	c.counts.Received.add(bufs[:n])
	return n
}

// Send implements Port.
func (c *Counters) Send(class Class, bufs []Buf) int {
	n := c.port.Send(class, bufs)
	c.counts.Sent[min(class, Classes-1)].add(bufs[:n])
	if n < len(bufs) {
		c.counts.ShortSends++
		c.counts.Unsent += uint64(len(bufs) - n)
	}
	return n
}
