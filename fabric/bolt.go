package fabric

import (
	"fmt"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Bolt configures a queue's part of Bolt (Arslan et al., "Bolt: Sub-RTT Congestion Control for
// Ultra-Low Latency", NSDI 2023). A packet that arrives at a congested queue is reported to its
// sender at once (SRC). Otherwise a packet keeps its INC flag, by which its sender asks to send one
// packet more, if the link has spare capacity: unused supply (supply matching), or packets of flows
// that end (proactive ramp-up). Only packets with a Bolt TLV take part, and none with the zero
// value. The supply is the rate of the whole link less the arrivals of this queue. It does not
// account for other queues or pauses.
//
// The rules are those of the authors' ns-3 model; the paper was not at hand.
type Bolt struct {
	// Frame is the buffer space of a full packet with its check sequence, the unit of grants. 0
	// disables Bolt.
	Frame units.Bytes
	// Threshold is the queue length from which packets are reported, CC_THRESH; 0 means two frames.
	Threshold units.Bytes
	// Supply is the maximum of unused supply that the port accumulates; 0 means one frame. The
	// authors use one frame at a single bottleneck and two in a fat tree.
	Supply units.Bytes
	// Every reports one of every Every packets that arrive at a congested queue; 0 means all.
	Every int
}

// maxEnding limits the count of packets of ending flows (PRU) at a port.
const maxEnding = 256

// srcClass is the traffic class of reports: class selector 7, the highest class of service.
const srcClass = 56 << 2

func (b *Bolt) validate() error {
	switch {
	case b.Frame < 0 || b.Threshold < 0 || b.Supply < 0 || b.Every < 0:
		return fmt.Errorf("negative value in %+v", *b)
	case b.Frame == 0 && *b != Bolt{}:
		return fmt.Errorf("Bolt %+v: want a positive Frame", *b)
	case b.Supply > 0 && b.Supply < b.Frame:
		return fmt.Errorf("Bolt supply of %d bytes is below the frame of %d bytes",
			int64(b.Supply), int64(b.Frame))
	}
	return nil
}

// bolt is the Bolt state of a queue. Supply is measured in time on the link.
type bolt struct {
	threshold       units.Bytes
	frame, maxAvail units.Duration // of a full packet; maximum of avail
	avail           units.Duration // unused supply; negative when arrivals exceed the link rate
	at              units.Time     // when avail was last updated
	ending          int            // packets of ending flows
	every, until    int            // report interval in packets; packets until the next report
}

// configure sets b up for a queue of port p.
func (b *bolt) configure(c *Bolt, p *Port) {
	supply := max(c.Supply, c.Frame)
	frames := (supply + c.Frame - 1) / c.Frame
	*b = bolt{threshold: c.Threshold, every: max(c.Every, 1),
		frame:    p.serialize(int32(c.Frame + interFrame)),
		maxAvail: p.serialize(int32(supply + frames*interFrame))}
	if c.Threshold == 0 {
		b.threshold = 2 * c.Frame
	}
}

// applyBolt processes a frame that enters a queue. Every frame consumes supply; a frame with a Bolt
// TLV may be reported, or keep or lose its INC flag.
func (s *Switch) applyBolt(in, out *Port, q *queue, f *frame) {
	b, now := &q.bolt, s.net.now
	b.avail = min(b.avail+now.Sub(b.at)-out.serialize(f.wire), b.maxAvail)
	b.at = now
	t := extension.AsBolt(wire.SwitchTLV(f.mem[:f.len]))
	if t == nil {
		return
	}
	increment := t.Flags()&extension.BoltINC != 0
	switch {
	case q.bytes >= b.threshold:
		r := extension.QueueReport{Drain: out.serialize(int32(q.bytes) + q.count*interFrame),
			Rate: out.rate}
		if t.Congest(r) {
			q.stats.Congested++
			if b.until--; b.until < 0 {
				b.until = b.every - 1
				s.report(in, q, f, r)
			}
		}
	case t.Flags()&(extension.BoltLast|extension.BoltFirst) == extension.BoltLast:
		b.ending = min(b.ending+1, maxEnding)
		return
	case b.ending > 0 && increment:
		b.ending--
		q.stats.Granted++
		return
	case b.avail >= b.frame && increment:
		b.avail -= b.frame
		q.stats.Granted++
		return
	}
	if increment {
		t.Clear(extension.BoltINC)
		q.stats.Denied++
	}
}

// report sends an SRC to the sender of a frame, as if it had arrived at port in.
func (s *Switch) report(in *Port, q *queue, f *frame, r extension.QueueReport) {
	n := s.net
	src := n.newFrame(nil)
	data := wire.BuildSRC(src.mem, f.mem[:f.len], srcClass, r.Bytes())
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

// Bolt reports whether every switch between two hosts runs Bolt for packets of a traffic class. If
// there are several paths it checks one.
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
