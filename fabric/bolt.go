package fabric

import (
	"fmt"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Bolt makes a queue speak to the senders of what waits in it (Arslan et al., "Bolt: Sub-RTT
// Congestion Control for Ultra-Low Latency", NSDI 2023). A packet that finds a queue is reported to
// its sender at once (SRC); of the others as many keep their wish for one packet more as the link
// has room for: what it could have sent and did not (supply matching), and what flows that end
// leave (proactive ramp-up). It heeds packets that have a Bolt TLV; the zero value heeds none.
// Supply is that of the whole link, less what comes into this queue: what other queues send, and
// pauses, it does not see.
//
// The rules are those of the authors' ns-3 model; the paper was not at hand.
type Bolt struct {
	// Frame is what a full packet takes of a buffer, with its check sequence: the unit of what
	// follows. 0 turns all of it off.
	Frame units.Bytes
	// Threshold is the length from which on a queue is reported, CC_THRESH; 0 means two frames.
	Threshold units.Bytes
	// Supply is how much of what it could have sent the port remembers; 0 means one frame, which
	// the authors have at a single bottleneck; they have two in a fat tree.
	Supply units.Bytes
	// Every makes it report each so many-th of the packets that find a queue; 0 means all.
	Every int
}

// mostLeaving is how many packets of flows that end a port remembers (PRU).
const mostLeaving = 256

// srcClass is the traffic class of reports: class selector 7, the highest class of service.
const srcClass = 56 << 2

func (b *Bolt) validate() error {
	switch {
	case b.Frame < 0 || b.Threshold < 0 || b.Supply < 0 || b.Every < 0:
		return fmt.Errorf("a negative number in %+v", *b)
	case b.Frame == 0 && *b != Bolt{}:
		return fmt.Errorf("Bolt needs the length of a full frame: %+v", *b)
	case b.Supply > 0 && b.Supply < b.Frame:
		return fmt.Errorf("Bolt with a supply of at most %d bytes never has one for a frame of %d",
			int64(b.Supply), int64(b.Frame))
	}
	return nil
}

// bolt is a queue's state of Bolt. Supply counts in time of the link.
type bolt struct {
	threshold    units.Bytes
	frame, most  units.Duration // a full packet on the link; the most supply
	avail        units.Duration // below 0: it has to send more than it can
	at           units.Time     // when avail was brought up to date
	leaving      int            // packets of flows that end
	every, until int            // reports: each so many-th packet; packets until the next
}

// configure takes over the configuration, for a port.
func (b *bolt) configure(c *Bolt, p *Port) {
	supply := max(c.Supply, c.Frame)
	frames := (supply + c.Frame - 1) / c.Frame
	*b = bolt{threshold: c.Threshold, every: max(c.Every, 1),
		frame: p.serialize(int32(c.Frame + betweenSpace)),
		most:  p.serialize(int32(supply + frames*betweenSpace))}
	if c.Threshold == 0 {
		b.threshold = 2 * c.Frame
	}
}

// bolt does what Bolt does with a frame on its way into a queue: of every one it takes the supply,
// and those that have flags it heeds.
func (s *Switch) bolt(in, out *Port, q *queue, f *frame) {
	b, now := &q.bolt, s.net.now
	b.avail = min(b.avail+now.Sub(b.at)-out.serialize(f.wire), b.most)
	b.at = now
	t := wire.FindBolt(f.mem[:f.len])
	if t == nil {
		return
	}
	asks := t.Flags()&wire.BoltINC != 0
	switch {
	case q.bytes >= b.threshold:
		r := wire.QueueReport{Drain: out.serialize(int32(q.bytes) + q.count*betweenSpace),
			Rate: out.rate}
		if t.Congest(r) {
			q.stats.Congested++
			if b.until--; b.until < 0 {
				b.until = b.every - 1
				s.report(in, q, f, r)
			}
		}
	case t.Flags()&(wire.BoltLast|wire.BoltFirst) == wire.BoltLast:
		b.leaving = min(b.leaving+1, mostLeaving)
		return
	case b.leaving > 0 && asks:
		b.leaving--
		q.stats.Granted++
		return
	case b.avail >= b.frame && asks:
		b.avail -= b.frame
		q.stats.Granted++
		return
	}
	if asks {
		t.Clear(wire.BoltINC)
		q.stats.Denied++
	}
}

// report sends an SRC to the sender of a frame, where it came from.
func (s *Switch) report(in *Port, q *queue, f *frame, r wire.QueueReport) {
	n := s.net
	src := n.newFrame(nil)
	data := wire.BuildSRC(src.mem, f.mem[:f.len], srcClass, r)
	n.label(src, data)
	src.state = frameMoving
	n.reports++
	q.stats.Reported++
	if src.dst < 0 {
		n.drop(src)
		return
	}
	s.receive(in, src)
}

// Bolt says whether every switch between two hosts runs Bolt for packets of a traffic class: on one
// of the ways, when there are several.
func (n *Network) Bolt(from, to int, class uint8) bool {
	path := n.Path(from, to, 0)
	if len(path) < 2 {
		return false
	}
	for _, p := range path[1:] {
		if p.queues[n.config.Classify[class>>2]].config.Bolt.Frame == 0 {
			return false
		}
	}
	return true
}
