package taurus

import (
	"math/rand/v2"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// The load of sec3.5-handler: 10 M signals a second of 16 flows for 20 ms. The agent begins after a
// millisecond, and takes a microsecond for a message, ten times what the device takes for a signal.
const (
	handledFlows = 16
	signalEvery  = 100 * units.Nanosecond
	stalled      = ms
	perMessage   = us
	handledFor   = 20 * ms
)

// handler: the message handler under overload, with messages out of order, and with decisions out
// of bounds.
var handler = &experiment.Experiment{
	ID:    "taurus/sec3.5-handler",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		if err := overload(j); err != nil {
			return err
		}
		return outOfBounds(j)
	},
	Judge: func(r *experiment.Results) {
		r.Claim("backpressure", r.Values("overflows late")[0])
		r.Note("backpressure", "%.0f before; periods %.0f times as long as configured at most, "+
			"and %.0f at the end", r.Values("overflows")[0], r.Series("stretch").Y.Max(),
			r.Values("stretch")[0])
		generated, received, evicted := r.Values("raw")[0], r.Values("raw heard")[0],
			r.Values("evicted")[0]
		r.Claim("evict-oldest", generated-received-evicted)
		r.Note("evict-oldest", "%.0f raw signals, %.0f received, %.0f evicted, %.0f of them by "+
			"the NIC; of %.0f acknowledged packets %.0f were reported",
			generated, received, evicted, r.Values("evicted")[1], r.Values("packets")[0],
			r.Values("packets heard")[0])
		r.Claim("order", r.Values("inversions")[0])
		r.Note("order", "%.0f events from batches in shuffled order", r.Values("events")[0])
		r.Claim("clamp-first", r.Values("updates")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		ring := figure.Steps("ring", "Messages that wait: the agent begins after 1 ms", "time (ms)",
			"slots of 4096")
		s := r.Series("ring").Scaled(1e3, 1)
		ring.Add("ring of the link", s.X, s.Y)
		stretch := figure.Steps("stretch", "Periods, in multiples of the configured", "time (ms)",
			"multiple")
		s = r.Series("stretch").Scaled(1e3, 1)
		stretch.Add("both engines", s.X, s.Y)
		return []figure.Figure{ring, stretch}
	},
}

// shuffled is a device that returns each batch in a random order.
type shuffled struct {
	nicoffload.Device
	*rand.Rand
	firsts map[uint32]units.Time // of the batch, by PSN, which is unique to a signal here
	last   units.Time            // of its events
	began  bool
	copy   []byte
}

// Fetch implements nicoffload.Device.
func (s *shuffled) Fetch(b []byte) int {
	n := s.Device.Fetch(b)
	s.copy = append(s.copy[:0], b[:n]...)
	clear(s.firsts)
	s.began = false
	var messages [][]byte
	var m nicoffload.Message
	for at := 0; at < n; {
		length, err := m.Decode(s.copy[at:])
		if err != nil {
			return n
		}
		messages = append(messages, s.copy[at:at+length])
		s.firsts[m.Event.PSN] = m.First
		at += length
	}
	s.Shuffle(len(messages), func(i, k int) { messages[i], messages[k] = messages[k], messages[i] })
	at := 0
	for _, m := range messages {
		at += copy(b[at:], m)
	}
	return n
}

// inverted reports whether the signal is of an earlier message than the one before it.
func (s *shuffled) inverted(psn uint32) bool {
	first := s.firsts[psn]
	inverted := s.began && first.Before(s.last)
	s.last, s.began = first, true
	return inverted
}

// overload runs agent and device, with a link between them.
func overload(j *experiment.Job) error {
	nic, err := nicoffload.NewNIC(nicoffload.Config{Flows: handledFlows,
		Aggregation: nicoffload.DefaultAggregation}, 0)
	if err != nil {
		return err
	}
	link := nicoffload.NewLink()
	board, err := link.NICSide(nic)
	if err != nil {
		return err
	}
	host, err := link.Host()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(j.Seed, 35))
	device := &shuffled{Device: host, Rand: random, firsts: map[uint32]units.Time{}}
	inversions, events, rawReceived, packetsReceived := 0, 0, 0, 0
	hears := &listener{events: cc.Events(cc.ACK, cc.OOO, cc.RTT, cc.CNP),
		on: func(ev *cc.Event, _ units.Time) cc.Decision {
			if events++; device.inverted(ev.PSN) {
				inversions++
			}
			if ev.Kind == cc.RTT || ev.Kind == cc.CNP {
				rawReceived++
			}
			packetsReceived += ev.Packets
			return cc.Decision{Window: mtu}
		}}
	aggregation := nicoffload.DefaultAggregation
	agent, err := nicoffload.NewAgent(nicoffload.AgentConfig{
		Device: device, Aggregation: &aggregation, Batch: 8 * nicoffload.MaxMessage,
		Adopt: func(nicoffload.Handle) (cc.Algorithm, error) { return hears, nil },
	}, 0)
	if err != nil {
		return err
	}
	for f := range handledFlows {
		board.Open(nicoffload.NewHandle(uint32(f), 0), cc.Decision{Window: mtu}, 0)
	}
	overflows := func() (n uint64) {
		n = nic.Counters().Held
		for k := range nic.Counters().Evicted {
			n += nic.Counters().Evicted[k] + agent.Counters().Evicted[k]
		}
		return n
	}
	raw, packets, polls, before := 0, 0, 0, uint64(0)
	next := units.Time(stalled)
	poll := func(now units.Time) {
		board.Poll(now)
		if next.After(now) {
			return
		}
		did := agent.Counters().Messages
		agent.Poll(now)
		next = now.Add(max(1, units.Duration(agent.Counters().Messages-did)) * perMessage)
	}
	for now, psn := units.Time(0), uint32(1); now.Before(units.Time(handledFor)); now,
		psn = now.Add(signalEvery), psn+1 {
		if now.Sub(0) == handledFor/4*3 {
			before = overflows()
		}
		ev := cc.Event{Kind: cc.ACK, PSN: psn, Packets: 1, Bytes: mtu}
		switch random.IntN(40) {
		case 0:
			ev.Kind, ev.Packets, ev.Bytes = cc.OOO, 0, 0
		case 1:
			ev = cc.Event{Kind: cc.RTT, PSN: psn, Delay: us}
			raw++
		case 2:
			ev = cc.Event{Kind: cc.CNP, PSN: psn}
			raw++
		}
		packets += ev.Packets
		board.Report(nicoffload.NewHandle(uint32(random.IntN(handledFlows)), 0), &ev, now)
		if psn%10 == 0 {
			poll(now)
			if polls++; polls%20 == 0 {
				used, _ := host.Backlog()
				j.Series("ring").Add(now.Sub(0).Seconds(), float64(used))
				j.Series("stretch").Add(now.Sub(0).Seconds(), float64(agent.Stretch()))
			}
		}
	}
	j.Value("stretch", float64(agent.Stretch()))
	j.Value("overflows late", float64(overflows()-before))
	j.Value("overflows", float64(before))
	for now := units.Time(handledFor); now.Before(units.Time(2 * handledFor)); now = now.Add(us) {
		poll(now) // messages in flight
	}
	byNIC, byAgent := uint64(0), uint64(0)
	for k := range nic.Counters().Evicted {
		byNIC, byAgent = byNIC+nic.Counters().Evicted[k], byAgent+agent.Counters().Evicted[k]
	}
	j.Value("raw", float64(raw))
	j.Value("raw heard", float64(rawReceived))
	j.Value("evicted", float64(byNIC+byAgent), float64(byNIC))
	j.Value("packets", float64(packets))
	j.Value("packets heard", float64(packetsReceived))
	j.Value("inversions", float64(inversions))
	j.Value("events", float64(events))
	return nil
}

// outOfBounds has an algorithm decide 500 Gb/s, then 450, on a NIC of 400.
func outOfBounds(j *experiment.Job) error {
	nic, err := openFlows(1, nicoffload.Binding{}, nicoffload.Immediate, 0)
	if err != nil {
		return err
	}
	rates := []units.BitRate{500 * gbps, 450 * gbps}
	decides := &listener{events: cc.Events(cc.ACK),
		on: func(*cc.Event, units.Time) (d cc.Decision) {
			d.Rate, rates = rates[0], rates[1:]
			return d
		}}
	agent, err := agentOf(nic, decides, nicoffload.Binding{})
	if err != nil {
		return err
	}
	agent.Poll(0)
	before := agent.Counters().Results
	for now := range 2 {
		nic.Report(0, &cc.Event{Kind: cc.ACK, Packets: 1}, units.Time(now))
		agent.Poll(units.Time(now))
	}
	j.Value("updates", float64(agent.Counters().Results-before))
	return nil
}
