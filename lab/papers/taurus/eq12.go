package taurus

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// header is the overhead of a DMA write: a TLP of four double words (section 3.4).
const header units.Bytes = 16

// efficiency is equation 2: the share of the bus that signals get, averaged over their sizes.
func efficiency(sizes ...units.Bytes) float64 {
	sum := 0.0
	for _, s := range sizes {
		sum += float64(s) / float64(s+header)
	}
	return sum / float64(len(sizes))
}

// ackRate returns the rate of acknowledgements of packets of a size, each acknowledged by itself.
func ackRate(line units.BitRate, packet units.Bytes) float64 {
	return float64(line) / float64(8*packet)
}

// eq12: the cost of reports on the bus, by the equations and by the engine's counters.
var eq12 = &experiment.Experiment{
	ID:    "taurus/eq12",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for _, packet := range []units.Bytes{4000, 1000} {
			j.Value("acks", ackRate(400*gbps, packet))
		}
		for s := units.Bytes(1); s <= 512; s *= 2 {
			j.Series("efficiency").Add(float64(s), efficiency(s))
		}
		moved, err := move(workedExample, nicoffload.Aggregation{Accumulable: 10 * us,
			Coalescent: 10 * us, Threshold: 64, Deadline: 5 * us})
		if err != nil {
			return err
		}
		j.Value("moved", float64(moved.Signals), float64(moved.Messages), float64(moved.Bursts),
			float64(moved.Bytes))
		for _, tiers := range busTiers {
			for flows := 1; flows <= 256; flows *= 2 {
				moved, err := move(evenly(flows), tiers.Aggregation)
				if err != nil {
					return err
				}
				bus := moved.Bytes + uint64(header)*moved.Bursts
				j.Series(tiers.name).Add(float64(flows), float64(bus)/float64(moved.Signals))
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		acks := r.Values("acks").Scaled(1e-6)
		r.Claim("ack-rate", experiment.With("p4000", acks[0]).With("p1000", acks[1]))
		var e claims.Value
		for _, size := range []units.Bytes{1, 8, 64, 128, 512} {
			e = e.With(fmt.Sprintf("s%d", size),
				claims.Number(math.Round(1000*efficiency(size))/1000))
		}
		r.Claim("efficiency", e)
		// Tier 1 makes 3 records of 9 signals, tier 2 moves them in 2 bursts: 32 B, then 64 B.
		const records, bursts = 3, 2
		model := records*record + bursts*header
		moved := r.Values("moved")
		r.Claim("two-tier", math.Abs((moved[3]+float64(header)*moved[2])/float64(model)-1))
		r.Note("two-tier", "%g signals, %g messages, %g bursts: %g B and as many headers of %d B "+
			"as bursts", moved[0], moved[1], moved[2], moved[3], header)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		e := figure.Lines("efficiency",
			"Equation 2: share of the bus that a signal gets, header 16 B", "size (B)",
			"efficiency")
		e.X.Log = true
		r.Series("efficiency").Draw(e, "equation 2")
		bus := figure.Lines("bus",
			"Engine: bytes on the bus for an ACK, 400 Gb/s of packets of 4096 B", "flows",
			"bytes, headers included")
		bus.X.Log, bus.Y.Log = true, true
		for _, tiers := range busTiers {
			r.Series(tiers.name).Draw(bus, tiers.name)
		}
		return []figure.Figure{e, bus}
	},
}

// record is TAURUS's message.
const record units.Bytes = nicoffload.Slot

// busTiers are the tiers of section 3.4: signals into messages, messages into bursts.
var busTiers = []struct {
	name string
	nicoffload.Aggregation
}{
	{"neither", nicoffload.Immediate},
	{"messages in bursts",
		nicoffload.Aggregation{Threshold: nicoffload.DefaultAggregation.Threshold,
			Deadline: nicoffload.DefaultAggregation.Deadline}},
	{"signals in messages, too", nicoffload.DefaultAggregation},
}

// signal is a signal that reaches the NIC.
type signal struct {
	at   units.Duration
	flow int
	kind cc.Kind
}

// workedExample is the catalogue's: acknowledgements, losses and a round trip of flow 7.
var workedExample = func() (all []signal) {
	kinds := map[int][]cc.Kind{1: {cc.ACK}, 2: {cc.ACK, cc.OOO}, 3: {cc.ACK, cc.OOO},
		4: {cc.ACK, cc.RTT}, 6: {cc.OOO}, 9: {cc.ACK}}
	for at := range 10 {
		for _, k := range kinds[at] {
			all = append(all, signal{units.Duration(at) * us, 7, k})
		}
	}
	return all
}()

// evenly returns acknowledgements of 400 Gb/s for a millisecond, of flows in turn.
func evenly(flows int) (all []signal) {
	gap := (400 * gbps).Duration(mtu)
	for at := units.Duration(0); at < ms; at += gap {
		all = append(all, signal{at, len(all) % flows, cc.ACK})
	}
	return all
}

// move passes signals through a NIC until all have been moved, and returns its counters. Messages
// are records.
func move(signals []signal, a nicoffload.Aggregation) (nicoffload.Counters, error) {
	flows := 0
	for _, s := range signals {
		flows = max(flows, s.flow+1)
	}
	const before = -100 * us // so that periods begin at 0
	n, err := openFlows(flows, nicoffload.Binding{Brief: true}, a, units.Time(before))
	if err != nil {
		return nicoffload.Counters{}, err
	}
	buf := make([]byte, nicoffload.DefaultQueue*nicoffload.Slot)
	poll := func(now units.Time) units.Time {
		next := n.Poll(now)
		n.Fetch(buf)
		return next
	}
	next := poll(units.Time(before / 2))
	begin := n.Counters()
	for _, s := range signals {
		now := units.Time(s.at)
		for next.Before(now) {
			next = poll(next)
		}
		poll(now)
		n.Report(nicoffload.NewHandle(uint32(s.flow), 0),
			&cc.Event{Kind: s.kind, Packets: 1, Bytes: mtu}, now)
		next = n.Poll(now)
	}
	for end := next.Add(ms); next.Before(end); {
		next = poll(next)
	}
	c := n.Counters()
	c.Signals -= begin.Signals
	c.Messages -= begin.Messages
	c.Bursts -= begin.Bursts
	c.Bytes -= begin.Bytes
	return c, nil
}

// openFlows returns a NIC with open flows, which the agent knows.
func openFlows(flows int, b nicoffload.Binding, a nicoffload.Aggregation,
	now units.Time) (*nicoffload.NIC, error) {
	n, err := nicoffload.NewNIC(nicoffload.Config{Flows: flows, Aggregation: a,
		LineRate: 400 * gbps}, now)
	if err != nil {
		return nil, err
	}
	for f := range flows {
		h := nicoffload.NewHandle(uint32(f), 0)
		n.Open(h, cc.Decision{Window: mtu}, now)
		if err := n.Configure(h, b); err != nil {
			return nil, err
		}
	}
	return n, nil
}
