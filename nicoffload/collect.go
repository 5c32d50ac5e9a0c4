package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// Packet is what a pipeline shows the collector of a packet. A transport that knows more reports
// cc's events instead; one flow must not use both.
type Packet struct {
	Type PacketType
	// PSN is the packet's own for data; for an acknowledgement the last one acknowledged, or the
	// one missing.
	PSN   uint32
	Bytes units.Bytes
	ECE   bool   // the acknowledgement echoes a mark
	Nak   bool   // the acknowledgement reports PSN as missing
	Probe []byte // the probe field that the packet carries, or nil
	// Segment is what Extractions index: the packet after its BTH.
	Segment []byte
}

// maxExtractions is the maximum number of custom segments.
const maxExtractions = 32

// arrival is the data-driven state of a flow.
type arrival struct {
	una       uint32 // the first packet not acknowledged
	next      uint32 // the PSN expected next
	unaKnown  bool   // una is known
	nextKnown bool   // next is known
	inFlight  units.Bytes
}

// timedContext is the time-driven state of a flow. Incoming data only moves its deadline.
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

// Sent collects a data packet that leaves: a TX event, the retransmission timer, and the decision
// whether it carries a probe. In that case Sent writes the probe to field and returns true.
func (n *NIC) Sent(h Handle, p *Packet, field []byte, now units.Time) (probe bool) {
	n.dirty = true
	f := n.find(h)
	if f == nil {
		return false
	}
	f.arrival.inFlight += p.Bytes
	t := &n.timed[h.Index()]
	if t.rto > 0 && f.arrival.inFlight == p.Bytes {
		n.timers.Set(h.Index(), now.Add(t.rto))
	}
	n.event = cc.Event{Kind: cc.TX, PSN: p.PSN, SndNxt: (p.PSN + 1) & psnMask, Packets: 1,
		Bytes: p.Bytes, InFlight: f.arrival.inFlight}
	n.Report(h, &n.event, now)
	if t.probe.attach(now) {
		t.probe.send(field, now)
		n.counters.Probes++
		return true
	}
	return false
}

// Received collects a packet that arrived.
func (n *NIC) Received(h Handle, p *Packet, now units.Time) {
	n.dirty = true
	f := n.find(h)
	if f == nil {
		return
	}
	a := &f.arrival
	n.event = cc.Event{PSN: p.PSN}
	switch p.Type {
	case PacketData: // detect gaps
		if a.nextKnown && p.PSN != a.next {
			if psnAfter(p.PSN, a.next) {
				n.event.Kind, n.event.PSN = cc.OOO, a.next
				n.Report(h, &n.event, now)
			}
		}
		if !a.nextKnown || !psnAfter(a.next, p.PSN) {
			a.next, a.nextKnown = (p.PSN+1)&psnMask, true
		}
	case PacketAck:
		if p.Nak {
			n.event.Kind = cc.OOO
		} else {
			n.acknowledged(h, a, p, now)
		}
		n.event.InFlight = a.inFlight
		n.Report(h, &n.event, now)
	case PacketCNP:
		n.event.Kind = cc.CNP
		n.Report(h, &n.event, now)
	}
	if p.Probe != nil {
		n.receivedProbe(h, extension.ProbeField(p.Probe), now)
	}
	n.extract(h, f, p, now)
}

func (n *NIC) acknowledged(h Handle, a *arrival, p *Packet, now units.Time) {
	packets := 1
	if a.unaKnown {
		packets = int((p.PSN - a.una + 1) & psnMask)
		if packets >= 1<<23 {
			packets = 0 // older than the newest acknowledgement
		}
	}
	if packets > 0 {
		a.una, a.unaKnown = (p.PSN+1)&psnMask, true
		a.inFlight = max(0, a.inFlight-p.Bytes)
		if t := &n.timed[h.Index()]; t.rto > 0 {
			if n.timers.Stop(h.Index()); a.inFlight > 0 {
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

// receivedProbe handles the response to a probe, unless a newer one has arrived before.
func (n *NIC) receivedProbe(h Handle, field extension.ProbeField, now units.Time) {
	delay, ok := n.timed[h.Index()].probe.onResponse(field, now)
	if !ok {
		n.counters.ProbesLate++
		return
	}
	n.event = cc.Event{Kind: cc.RTT, Probe: true, Delay: delay}
	n.Report(h, &n.event, now)
}

// extract cuts the segments that are configured for packets of this type, if the packet is long
// enough.
func (n *NIC) extract(h Handle, f *flowContext, p *Packet, now units.Time) {
	for i := range n.segments {
		x := &n.segments[i]
		if x.Packet != p.Type || int(x.Offset)+int(x.Length) > len(p.Segment) {
			continue
		}
		n.counters.Signals++
		if !f.routes[cc.CST].bound {
			n.counters.Unbound++
			continue
		}
		m := &n.scratch
		m.Flow, m.Type, m.Class, m.Count, m.First = h, typeOf[cc.CST], Raw, 1, now
		m.Event = cc.Event{Kind: cc.CST, PSN: p.PSN, InFlight: f.arrival.inFlight}
		m.SegmentID, m.Segment = x.ID, p.Segment[x.Offset:x.Offset+x.Length]
		n.pushRaw(m.Encode(n.frame[:], f.brief), now)
	}
}

// runTimers raises the timeouts that are due.
func (n *NIC) runTimers(now units.Time) {
	for i, due := n.timers.Due(now); due; i, due = n.timers.Due(now) {
		f := &n.flows[i]
		n.event = cc.Event{Kind: cc.RTO, PSN: f.arrival.una, InFlight: f.arrival.inFlight}
		n.Report(f.handle, &n.event, now)
		if t := &n.timed[i]; t.rto > 0 {
			n.timers.Set(i, now.Add(t.rto))
		}
	}
}

// psnAfter reports whether PSN a comes after b.
func psnAfter(a, b uint32) bool {
	d := (a - b) & psnMask
	return d != 0 && d < 1<<23
}
