package bottleneck

import (
	"sync/atomic"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// Config describes a bottleneck.
type Config struct {
	Rate       units.BitRate // 0: as fast as the ports
	Kmin, Kmax units.Bytes   // thresholds of the queue for CE marks; both 0: no marks
}

// Zero reports whether the configuration does nothing.
func (c Config) Zero() bool { return c == Config{} }

// Link is one direction of a bottleneck. The ports at its ends may belong to different goroutines.
type Link struct {
	Config
	queued atomic.Int64 // bytes sent and not yet received
	marked atomic.Uint64
}

// Queued returns the length of the queue.
func (l *Link) Queued() units.Bytes { return units.Bytes(l.queued.Load()) }

// Marked returns how many frames were marked CE.
func (l *Link) Marked() uint64 { return l.marked.Load() }

// overhead is what a frame takes on the wire besides its bytes: preamble, frame check sequence and
// inter-frame gap (IEEE 802.3).
const overhead = 8 + 4 + 12

// held is a frame on its way to the receiver.
type held struct {
	buf packet.Buf
	at  units.Time // when its last bit arrives
}

// holds is the most frames that a Port holds back. Others wait in the port itself, whose back
// pressure reaches the sender.
const holds = 1024

// Port is a packet.Port at the end of two links.
type Port struct {
	packet.Port
	in, out *Link
	clock   func() units.Time
	free    units.Time // when the incoming link has sent all held frames
	queue   [holds]held
	head, n int
	random  uint64
	info    packet.Info
}

// New returns a port whose frames pass out when they are sent and in when they are received.
func New(port packet.Port, in, out *Link, clock func() units.Time) *Port {
	p := &Port{Port: port, in: in, out: out, clock: clock, random: 1, info: port.Info()}
	if in.Rate > 0 {
		p.info.LinkRate = in.Rate
	}
	return p
}

// Info implements packet.Port. The link rate is the bottleneck's.
func (p *Port) Info() packet.Info { return p.info }

// Send implements packet.Port.
func (p *Port) Send(class packet.Class, bufs []packet.Buf) int {
	sizes := 0
	for i := range bufs {
		sizes += bufs[i].Len()
	}
	p.out.queued.Add(int64(sizes)) // before the receiver can subtract it
	n := p.Port.Send(class, bufs)
	for i := n; i < len(bufs); i++ {
		p.out.queued.Add(-int64(bufs[i].Len()))
	}
	return n
}

// Recv implements packet.Port.
func (p *Port) Recv(bufs []packet.Buf) int {
	if p.in.Rate == 0 {
		n := p.Port.Recv(bufs)
		for i := range bufs[:n] {
			p.mark(&bufs[i])
			p.in.queued.Add(-int64(bufs[i].Len()))
		}
		return n
	}
	now := p.clock()
	p.take(now)
	n := 0
	for ; n < len(bufs) && p.n > 0 && !p.queue[p.head].at.After(now); n++ {
		h := &p.queue[p.head]
		bufs[n] = h.buf
		bufs[n].Time = h.at
		p.in.queued.Add(-int64(h.buf.Len()))
		p.head = (p.head + 1) % holds
		p.n--
	}
	return n
}

// Drain frees the held frames, before the port is closed.
func (p *Port) Drain() {
	for ; p.n > 0; p.n-- {
		h := &p.queue[p.head]
		p.in.queued.Add(-int64(h.buf.Len()))
		p.Port.Free([]packet.Buf{h.buf})
		p.head = (p.head + 1) % holds
	}
}

// take moves frames from the port to the queue.
func (p *Port) take(now units.Time) {
	var some [packet.Burst]packet.Buf
	for p.n+len(some) <= holds {
		got := p.Port.Recv(some[:])
		for i := range some[:got] {
			b := &some[i]
			p.mark(b)
			if p.free.Before(now) {
				p.free = now
			}
			p.free = p.free.Add(p.in.Rate.Duration(units.Bytes(b.Len() + overhead)))
			p.queue[(p.head+p.n)%holds] = held{*b, p.free}
			p.n++
		}
		if got < len(some) {
			return
		}
	}
}

// mark marks a frame that finds the queue long.
func (p *Port) mark(b *packet.Buf) {
	l := p.in
	queued := units.Bytes(l.queued.Load())
	if l.Kmax == 0 || queued <= l.Kmin {
		return
	}
	if queued < l.Kmax {
		p.random = p.random*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
		if units.Bytes(p.random>>33)%(l.Kmax-l.Kmin) >= queued-l.Kmin {
			return
		}
	}
	if MarkCE(b.Data()) {
		l.marked.Add(1)
	}
}
