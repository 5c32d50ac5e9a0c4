package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Packet is what a pipeline knows of a packet when it shows it to the collector. A transport that
// knows more than that reports cc's events instead, and the two do not mix on one flow.
type Packet struct {
	Type PacketType
	// of data: its own; of an acknowledgement: the last one acknowledged, or the one missing
	PSN   uint32
	Bytes units.Bytes
	ECE   bool   // an acknowledgement that echoes a mark
	Nak   bool   // an acknowledgement that says that PSN is missing
	Probe []byte // the probe field that it carries; nil without
	// Segment is what Extractions count from: the packet from behind its BTH.
	Segment []byte
}

// maxExtractions is how many custom segments there can be.
const maxExtractions = 32

// arrival is the state of a flow that data drives.
type arrival struct {
	una    uint32 // the first packet not acknowledged
	next   uint32 // the PSN expected next
	knows  bool   // una is known
	begun  bool   // next is known
	flying units.Bytes
}

// timedContext is the state of a flow that time drives. Data that comes in moves its deadline and
// nothing else.
type timedContext struct {
	rto   units.Duration
	probe prober
}

// Extract implements Device.
func (n *NIC) Extract(x Extraction) error {
	if err := x.Validate(); err != nil {
		return err
	}
	for i := range n.segments {
		if n.segments[i].ID == x.ID {
			n.segments = append(n.segments[:i], n.segments[i+1:]...)
			break
		}
	}
	switch {
	case x.Length == 0:
	case len(n.segments) == maxExtractions:
		return fmt.Errorf("nicoffload: extraction %d: there are %d already: %w", x.ID,
			maxExtractions, ErrUnable)
	default:
		n.segments = append(n.segments, x)
	}
	return nil
}

func (n *NIC) bindTimed(h Handle, b Binding) {
	t := &n.timed[h.Index()]
	if t.rto > 0 {
		n.timing--
	}
	if b.RTO > 0 {
		n.timing++
	}
	t.rto = b.RTO
	t.probe.packets, t.probe.every = b.ProbePackets, b.ProbeEvery
	t.probe.since = n.now
	if b.RTO == 0 {
		n.timers.Stop(h.Index())
	}
}

// Sent is a data packet on its way out: TX, the retransmission timer, and whether it shall carry a
// probe, which is then written to field.
func (n *NIC) Sent(h Handle, p *Packet, field wire.ProbeField, now units.Time) (probe bool) {
	n.touched = true
	f := n.find(h)
	if f == nil {
		return false
	}
	f.arrival.flying += p.Bytes
	t := &n.timed[h.Index()]
	if t.rto > 0 && f.arrival.flying == p.Bytes {
		n.timers.Set(h.Index(), now.Add(t.rto))
	}
	n.event = cc.Event{Kind: cc.TX, PSN: p.PSN, SndNxt: (p.PSN + 1) & psnMask, Packets: 1,
		Bytes: p.Bytes, InFlight: f.arrival.flying}
	n.Report(h, &n.event, now)
	if t.probe.attach(now) {
		t.probe.send(field, now)
		n.counters.Probes++
		return true
	}
	return false
}

// Received is a packet on its way in.
func (n *NIC) Received(h Handle, p *Packet, now units.Time) {
	n.touched = true
	f := n.find(h)
	if f == nil {
		return
	}
	a := &f.arrival
	n.event = cc.Event{PSN: p.PSN}
	switch p.Type {
	case PacketData: // stateful: a gap
		if a.begun && p.PSN != a.next {
			if after(p.PSN, a.next) {
				n.event.Kind, n.event.PSN = cc.OOO, a.next
				n.Report(h, &n.event, now)
			}
		}
		if !a.begun || !after(a.next, p.PSN) {
			a.next, a.begun = (p.PSN+1)&psnMask, true
		}
	case PacketAck:
		if p.Nak {
			n.event.Kind = cc.OOO
		} else {
			n.acknowledged(h, a, p, now)
		}
		n.event.InFlight = a.flying
		n.Report(h, &n.event, now)
	case PacketCNP:
		n.event.Kind = cc.CNP
		n.Report(h, &n.event, now)
	}
	if p.Probe != nil {
		n.heardProbe(h, wire.ProbeField(p.Probe), now)
	}
	n.extract(h, f, p, now)
}

func (n *NIC) acknowledged(h Handle, a *arrival, p *Packet, now units.Time) {
	packets := 1
	if a.knows {
		packets = int((p.PSN - a.una + 1) & psnMask)
		if packets >= 1<<23 {
			packets = 0 // older than the newest
		}
	}
	if packets > 0 {
		a.una, a.knows = (p.PSN+1)&psnMask, true
		a.flying = max(0, a.flying-p.Bytes)
		if t := &n.timed[h.Index()]; t.rto > 0 {
			if n.timers.Stop(h.Index()); a.flying > 0 {
				n.timers.Set(h.Index(), now.Add(t.rto))
			}
		}
		n.event.Bytes = p.Bytes
	}
	n.event.Kind, n.event.PSN, n.event.Packets = cc.ACK, a.una, packets
	if p.ECE {
		n.event.Kind, n.event.Marked = cc.ECN, packets
	}
}

// heardProbe takes in a probe's response, unless a newer one came before it.
func (n *NIC) heardProbe(h Handle, field wire.ProbeField, now units.Time) {
	delay, ok := n.timed[h.Index()].probe.heard(field, now)
	if !ok {
		n.counters.ProbesLate++
		return
	}
	n.event = cc.Event{Kind: cc.RTT, Probe: true, Delay: delay}
	n.Report(h, &n.event, now)
}

// extract cuts the segments that are configured for packets of this type. One that the packet has
// not got is none.
func (n *NIC) extract(h Handle, f *context, p *Packet, now units.Time) {
	for i := range n.segments {
		x := &n.segments[i]
		if x.Packet != p.Type || int(x.Offset)+int(x.Length) > len(p.Segment) {
			continue
		}
		n.counters.Signals++
		if !f.ways[cc.CST].wants {
			n.counters.Unbound++
			continue
		}
		m := &n.scratch
		m.Flow, m.Type, m.Class, m.Count, m.First = h, typeOf[cc.CST], Raw, 1, now
		m.Event = cc.Event{Kind: cc.CST, PSN: p.PSN, InFlight: f.arrival.flying}
		m.SegmentID, m.Segment = x.ID, p.Segment[x.Offset:x.Offset+x.Length]
		n.pushRaw(m.Encode(n.frame[:], f.brief), now)
	}
}

// runTimers raises the timeouts that are due.
func (n *NIC) runTimers(now units.Time) {
	for i, due := n.timers.Due(now); due; i, due = n.timers.Due(now) {
		f := &n.flows[i]
		n.event = cc.Event{Kind: cc.RTO, PSN: f.arrival.una, InFlight: f.arrival.flying}
		n.Report(f.handle, &n.event, now)
		if t := &n.timed[i]; t.rto > 0 {
			n.timers.Set(i, now.Add(t.rto))
		}
	}
}

// after says whether PSN a comes after b.
func after(a, b uint32) bool {
	d := (a - b) & psnMask
	return d != 0 && d < 1<<23
}
