package nicoffload

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/cc/eventlog"
	"github.com/goroce/goroce/units"
)

// script is a device that follows the script of a test.
type script struct {
	NIC
	batch      []byte
	used, size int
	room       int // number of results it accepts
	results    []Result
	bindings   map[Handle]Binding
	agg        []Aggregation
	busy       bool
}

func (d *script) Fetch(b []byte) int {
	n := copy(b, d.batch)
	d.batch = d.batch[:0]
	return n
}
func (d *script) Backlog() (int, int) { return d.used, d.size }
func (d *script) Write(r []Result) int {
	n := min(len(r), d.room)
	d.room -= n
	d.results = append(d.results, r[:n]...)
	return n
}
func (d *script) Configure(h Handle, b Binding) error { d.bindings[h] = b; return nil }
func (d *script) Aggregate(a Aggregation) error {
	if d.busy {
		return ErrBusy
	}
	d.agg = append(d.agg, a)
	return nil
}

func (d *script) say(m Message) {
	b := make([]byte, MaxMessage)
	d.batch = append(d.batch, b[:m.Encode(b, false)]...)
}

func (d *script) event(h Handle, first units.Time, ev cc.Event) {
	d.say(Message{Flow: h, Type: typeOf[ev.Kind], Count: 1, First: first, Reported: first,
		Event: ev})
}

// scribe is an algorithm that records events, and decides as a test prescribes.
type scribe struct {
	events   cc.EventSet
	received []cc.Event
	at       []units.Time
	decide   func(ev *cc.Event) cc.Decision
}

func (s *scribe) Events() cc.EventSet { return s.events }
func (s *scribe) On(ev *cc.Event, now units.Time) cc.Decision {
	s.received, s.at = append(s.received, *ev), append(s.at, now)
	if s.decide != nil {
		return s.decide(ev)
	}
	return cc.Decision{Window: 1}
}

func newAgent(t testing.TB, a cc.Algorithm, c AgentConfig) (*Agent, *script) {
	d := &script{size: 4096, room: 1 << 30, bindings: map[Handle]Binding{}}
	c.Device = d
	if c.Adopt == nil {
		c.Adopt = func(Handle) (cc.Algorithm, error) { return a, nil }
	}
	agent, err := NewAgent(c, 0)
	require.NoError(t, err)
	d.say(Message{Flow: 1, Type: Started})
	agent.Poll(0)
	return agent, d
}

// Decisions of 500 Gb/s on an ACK and 450 Gb/s on an OOO, both clamped, cause one update.
func TestFilters(t *testing.T) {
	a := &scribe{events: cc.Events(cc.ACK, cc.OOO, cc.RTO, cc.CNP),
		decide: func(ev *cc.Event) cc.Decision {
			return cc.Decision{Window: 5, Rate: map[cc.Kind]units.BitRate{cc.ACK: 500 * units.Gbps,
				cc.OOO: 450 * units.Gbps, cc.RTO: 50 * units.Kbps}[ev.Kind]}
		}}
	agent, d := newAgent(t, a, AgentConfig{})
	d.results = nil
	before := agent.Counters()
	d.event(1, at(1), cc.Event{Kind: cc.ACK, Packets: 5})
	d.event(1, at(2), cc.Event{Kind: cc.OOO})
	agent.Poll(at(15))
	assert.Equal(t, []Result{{1, cc.Decision{Window: 5, Rate: 400 * units.Gbps}}}, d.results)
	assert.EqualValues(t, 2, agent.Counters().Clamped)
	assert.EqualValues(t, 1, agent.Counters().Duplicates-before.Duplicates)
	d.event(1, at(16), cc.Event{Kind: cc.RTO})
	agent.Poll(at(16))
	assert.Equal(t, 100*units.Kbps, d.results[1].Decision.Rate)
	d.event(1, at(17), cc.Event{Kind: cc.CNP})
	agent.Poll(at(17))
	assert.Zero(t, d.results[2].Decision.Rate, "a rate of 0 is kept")
}

// A timer does not overtake events that precede its deadline and are dispatched after it: both have
// the NIC's time.
func TestTimersWaitForEarlierEvents(t *testing.T) {
	a := &scribe{events: cc.Events(cc.CNP, cc.TIMER)}
	a.decide = func(*cc.Event) cc.Decision {
		return cc.Decision{Window: 1, WakeAt: a.at[len(a.at)-1].Add(55 * us)}
	}
	agent, d := newAgent(t, a, AgentConfig{})
	var next units.Time
	for _, cnp := range []int{0, 50} { // each is dispatched 6 µs later
		d.event(1, at(cnp), cc.Event{Kind: cc.CNP})
		next = agent.Poll(at(cnp + 6))
	}
	assert.Equal(t, at(111), next)
	agent.Poll(at(110))
	assert.Equal(t, []units.Time{at(0), at(50)}, a.at, "no timer: the second CNP has reset it")
	agent.Poll(at(111))
	assert.Equal(t, cc.TIMER, a.received[2].Kind)
	assert.Equal(t, at(105), a.at[2], "in the NIC's time")
}

func TestUnfilteredWritesAll(t *testing.T) {
	agent, d := newAgent(t, &scribe{events: cc.Events(cc.ACK)}, AgentConfig{Unfiltered: true})
	for i := range 5 {
		d.event(1, at(i), cc.Event{Kind: cc.ACK})
	}
	agent.Poll(at(5))
	assert.Len(t, d.results, 6)
}

// Messages are dispatched in the order in which their first signals arrived.
func TestOrderOfArrival(t *testing.T) {
	a := &scribe{events: ^cc.EventSet(0)}
	agent, d := newAgent(t, a, AgentConfig{})
	for _, n := range []int{5, 3, 9, 3, 1} {
		d.event(1, at(n), cc.Event{Kind: cc.ACK, PSN: uint32(n)})
	}
	agent.Poll(at(10))
	d.event(1, at(7), cc.Event{Kind: cc.ACK, PSN: 7})
	agent.Poll(at(11))
	var psns []uint32
	for i, ev := range a.received {
		psns = append(psns, ev.PSN)
		if i > 0 {
			assert.False(t, a.at[i].Before(a.at[i-1]),
				"time does not run backwards for an algorithm")
		}
	}
	assert.Equal(t, []uint32{1, 3, 3, 5, 9, 7}, psns)
	// Of a sample older than the newest only the acknowledgement counts; that of a probe is
	// dispatched.
	d.event(1, at(12), cc.Event{Kind: cc.RTT, Delay: us})
	agent.Poll(at(12))
	d.event(1, at(11), cc.Event{Kind: cc.RTT, Delay: us, Packets: 2})
	d.event(1, at(11), cc.Event{Kind: cc.RTT, Delay: us, Probe: true})
	agent.Poll(at(13))
	require.Len(t, a.received, 9)
	assert.Equal(t, [2]any{2, units.Duration(0)},
		[2]any{a.received[7].Packets, a.received[7].Delay})
	assert.Equal(t, [2]any{true, us}, [2]any{a.received[8].Probe, a.received[8].Delay})
	assert.EqualValues(t, 2, agent.Counters().Late)
}

func TestBackPressure(t *testing.T) {
	agg := DefaultAggregation
	agent, d := newAgent(t, &scribe{}, AgentConfig{Aggregation: &agg})
	periods := func() (all []units.Duration) {
		for _, g := range d.agg {
			all = append(all, g.Accumulable)
			assert.Equal(t, 2*g.Accumulable, g.Coalescent)
			assert.Equal(t, agg.Deadline, g.Deadline)
		}
		d.agg = nil
		return all
	}
	d.agg = nil
	poll := func(n, used int) {
		for range n {
			d.used = used
			agent.Poll(at(1))
		}
	}
	poll(10, 3072)
	assert.Equal(t, []units.Duration{20 * us, 40 * us, 80 * us, 160 * us, 320 * us, 640 * us},
		periods(), "64 times at most")
	poll(100, 2048)
	poll(7, 1024)
	poll(1, 1025)
	assert.Empty(t, periods(), "fewer than eight in a row")
	poll(16, 0)
	assert.Equal(t, []units.Duration{320 * us, 160 * us}, periods())
	poll(1000, 0)
	assert.Equal(t, []units.Duration{80 * us, 40 * us, 20 * us, 10 * us}, periods())
	assert.Equal(t, 1, agent.Stretch())
	d.busy = true
	poll(1, 4000)
	d.busy = false
	poll(1, 2048)
	assert.Equal(t, []units.Duration{20 * us}, periods(), "retried")

	none := Immediate
	agent, d = newAgent(t, &scribe{}, AgentConfig{Aggregation: &none})
	poll(2, 4096)
	assert.Equal(t, Aggregation{Accumulable: 4 * us, Coalescent: 4 * us}, d.agg[2])
	poll(16, 0)
	assert.Equal(t, Immediate, d.agg[4])
}

// When the ring is full, the older half of the raw messages is evicted, and no others.
func TestEviction(t *testing.T) {
	a := &scribe{events: ^cc.EventSet(0)}
	agent, d := newAgent(t, a, AgentConfig{})
	for i := range 10 {
		d.event(1, at(20-i), cc.Event{Kind: cc.RTT, Delay: us, PSN: uint32(20 - i)})
		d.say(Message{Flow: 1, Type: typeOf[cc.ACK], Class: Accumulable, Count: 1, First: at(i),
			Reported: at(20), Event: cc.Event{Kind: cc.ACK}})
	}
	d.used = 4096
	agent.Poll(at(21))
	assert.EqualValues(t, 5, agent.Counters().Evicted[cc.RTT])
	assert.Len(t, a.received, 15)
	assert.EqualValues(t, 16, a.received[10].PSN)
}

// Responses to probes, timeouts and POST events are not evicted, since a stopped flow would wait
// for them for ever.
func TestEssentialMessagesAreNotEvicted(t *testing.T) {
	one := []cc.Event{{Kind: cc.RTT, Delay: us, Probe: true}, {Kind: cc.RTO, Probe: true},
		{Kind: cc.RTO}, {Kind: cc.POST}}
	a := &scribe{events: ^cc.EventSet(0)}
	agent, d := newAgent(t, a, AgentConfig{})
	n := newNIC(t, Config{Queue: 64})
	open(t, n, 1, Binding{})
	for i, ev := range one {
		d.event(1, at(i), ev)
		n.Report(1, &ev, at(i))
	}
	for i := range 100 {
		ev := cc.Event{Kind: cc.RTT, Delay: us}
		d.event(1, at(10+i), ev)
		n.Report(1, &ev, at(10+i))
		n.Poll(at(10 + i))
	}
	d.used = 4096
	agent.Poll(at(200))
	count := func(received []cc.Event) (single int) {
		for _, ev := range received {
			if ev.Probe || ev.Kind != cc.RTT {
				single++
			}
		}
		return single
	}
	assert.Equal(t, 4, count(a.received))
	assert.Len(t, a.received, 4+50)

	var fetched []cc.Event
	for _, m := range fetch(t, n) {
		fetched = append(fetched, m.Event)
	}
	assert.Equal(t, 4, count(fetched))
	assert.Zero(t, n.Counters().Evicted[cc.RTO]+n.Counters().Evicted[cc.POST])
	assert.NotZero(t, n.Counters().Evicted[cc.RTT])
	for i := range 200 { // there is nothing else to evict
		n.Report(1, &one[i%4], at(300+i))
		n.Poll(at(300 + i))
	}
	assert.NotEmpty(t, fetch(t, n))
}

// A device that accepts no results: only the newest of each flow is kept, and none is lost.
func TestDeviceAcceptsNothing(t *testing.T) {
	window := units.Bytes(1)
	a := &scribe{events: cc.Events(cc.ACK), decide: func(*cc.Event) cc.Decision {
		window++
		return cc.Decision{Window: window}
	}}
	agent, d := newAgent(t, a, AgentConfig{})
	d.results, d.room = nil, 0
	for i := range 3000 {
		d.event(1, at(i), cc.Event{Kind: cc.ACK})
		agent.Poll(at(i))
	}
	assert.NotZero(t, agent.Counters().Busy)
	d.room = 3
	agent.Poll(at(3000))
	d.room = 1 << 30
	agent.Poll(at(3001))
	agent.Poll(at(3002))
	require.LessOrEqual(t, len(d.results), 300)
	assert.Equal(t, window, d.results[len(d.results)-1].Decision.Window)
}

func TestSegmentsAreParsed(t *testing.T) {
	a := &scribe{events: cc.Events(cc.CST, cc.RTT)}
	agent, d := newAgent(t, a, AgentConfig{})
	require.NoError(t, agent.Parse(20, func(b []byte, ev *cc.Event) error {
		if len(b) < 4 {
			return ErrShort
		}
		ev.SRC.Drain = units.Duration(b[0]) * us
		return nil
	}))
	assert.ErrorContains(t, agent.Parse(SegmentINT, nil), "want at least 16")
	for id, b := range map[uint16]string{20: "\x07abc", 21: "unknown", 22: ""} {
		d.say(Message{Flow: 1, Type: typeOf[cc.CST], SegmentID: id, Segment: []byte(b),
			Event: cc.Event{Kind: cc.CST}})
	}
	d.say(Message{Flow: 1, Type: typeOf[cc.CST], SegmentID: 20, Segment: []byte("abc"),
		Event: cc.Event{Kind: cc.CST}})
	agent.Poll(at(1))
	require.Len(t, a.received, 1)
	assert.Equal(t, 7*us, a.received[0].SRC.Drain)
	assert.EqualValues(t, 3, agent.Counters().Unparsed)
}

func TestHostSamplers(t *testing.T) {
	a := &scribe{events: cc.Events(cc.HOST)}
	agent, _ := newAgent(t, a, AgentConfig{})
	n := 0.0
	iio, err := agent.Sample("iio", 2*us, func(units.Time) (float64, bool) {
		n++
		return n, n != 2
	}, at(0))
	require.NoError(t, err)
	cpu, err := agent.Sample("cpu", 5*us, func(units.Time) (float64, bool) {
		return 0.5, true
	}, at(0))
	require.NoError(t, err)
	again, err := agent.Sample("cpu", 5*us, func(units.Time) (float64, bool) {
		return 0.75, true
	}, at(0))
	require.NoError(t, err)
	assert.Equal(t, cpu, again)
	for now := range 10 {
		next := agent.Poll(at(now))
		assert.True(t, next.After(at(now)) && !next.After(at(now+2)))
	}
	var got []cc.HostSample
	for _, ev := range a.received {
		got = append(got, ev.Host)
	}
	assert.Equal(t, []cc.HostSample{{Sampler: iio, Value: 1}, {Sampler: cpu, Value: 0.75},
		{Sampler: iio, Value: 3}, {Sampler: cpu, Value: 0.75}, {Sampler: iio, Value: 4},
		{Sampler: iio, Value: 5}}, got)
	agent.Unsample("iio")
	agent.Unsample("cpu")
	a.received = nil
	agent.Poll(at(100))
	assert.Empty(t, a.received)
	_, err = agent.Sample("none", 0, nil, 0)
	assert.ErrorContains(t, err, `sampler "none" with period 0s`)
}

// The lifecycle of an algorithm (TAURUS appendix A): begin, bind, decide, tear down.
func TestAlgorithmLifecycle(t *testing.T) {
	a := &scribe{events: cc.Events(cc.ACK, cc.POST)}
	adopted := 0
	agent, d := newAgent(t, nil, AgentConfig{Adopt: func(h Handle) (cc.Algorithm, error) {
		if adopted++; h == 9 {
			return nil, errors.New("no algorithm")
		}
		return a, nil
	}})
	assert.Equal(t, Binding{Events: cc.Events(cc.ACK, cc.POST, cc.TIMER), Raw: cc.Events(cc.TX)},
		d.bindings[1])
	assert.Len(t, d.results, 1, "the initial decision")
	d.say(Message{Flow: 1, Type: Started}) // repeated
	d.event(1, 0, cc.Event{Kind: cc.ACK})
	d.say(Message{Flow: 1, Type: Stopped})
	d.event(1, 0, cc.Event{Kind: cc.ACK})
	agent.Poll(0)
	assert.Len(t, a.received, 2, "events before the end count, wherever the end is in the batch")
	d.event(1, 0, cc.Event{Kind: cc.ACK})
	d.say(Message{Flow: 1, Type: Stopped})
	d.say(Message{Flow: 9, Type: Started})
	d.event(9, 0, cc.Event{Kind: cc.ACK})
	agent.Poll(0)
	assert.Equal(t, 2, adopted)
	assert.EqualValues(t, 2, agent.Counters().Unknown)
	assert.EqualValues(t, 1, agent.Counters().Refused)
	next := NewHandle(1, 1)
	d.say(Message{Flow: next, Type: Started})
	agent.Poll(0)
	again := NewHandle(1, 2)
	d.say(Message{Flow: again, Type: Started}) // without an end
	d.event(next, 0, cc.Event{Kind: cc.ACK})
	d.event(again, 0, cc.Event{Kind: cc.CNP})
	d.event(again, 0, cc.Event{Kind: cc.ACK})
	agent.Poll(0)
	assert.Len(t, a.received, 3)
	assert.EqualValues(t, 1, agent.Counters().Unbound)
	_, ok := agent.Snapshot(again)
	assert.True(t, ok)
	agent.Teardown()
	_, ok = agent.Snapshot(again)
	assert.False(t, ok)
	d.event(again, 0, cc.Event{Kind: cc.ACK})
	agent.Poll(0)
	assert.Len(t, a.received, 3)
}

// Invalid records from a driver are counted, and valid ones are dispatched.
func TestInvalidRecords(t *testing.T) {
	a := &scribe{events: ^cc.EventSet(0)}
	agent, d := newAgent(t, a, AgentConfig{})
	now := units.Time(10 * units.Second)
	agent.Poll(now)
	d.event(77, now, cc.Event{Kind: cc.ACK})                             // unknown flow
	d.event(NewHandle(1, 5), now, cc.Event{Kind: cc.ACK})                // another generation
	d.event(1, now.Add(units.Second), cc.Event{Kind: cc.ACK})            // in the future
	d.event(1, 5, cc.Event{Kind: cc.ACK})                                // too old
	d.say(Message{Flow: 1, Type: 1, First: now, Reported: now.Add(-us)}) // reported before arrival
	d.event(1, now, cc.Event{Kind: cc.ACK, Packets: 3})                  // valid
	d.batch = append(d.batch, make([]byte, 2*Slot)...)                   // malformed
	d.event(1, now, cc.Event{Kind: cc.ACK})                              // after it
	agent.Poll(now)
	c := agent.Counters()
	assert.Equal(t, [3]uint64{2, 3, 1}, [3]uint64{c.Unknown, c.Backwards, c.Malformed})
	assert.Len(t, a.received, 4)
	for _, at := range a.at {
		assert.Equal(t, now, at)
	}
}

// liar is a device that returns numbers out of range.
type liar struct {
	script
	by int
}

func (d *liar) Fetch(b []byte) int        { return min(d.by, 0) + max(d.by, 0)*(len(b)+1) }
func (d *liar) Write(r []Result) int      { return min(d.by, 0) + max(d.by, 0)*(len(r)+1) }
func (d *liar) Backlog() (used, size int) { return d.by * 1000, -d.by }

// Numbers out of range from a driver are clamped.
func TestNumbersOutOfRange(t *testing.T) {
	for _, by := range []int{-1, 1} {
		d := &liar{script{bindings: map[Handle]Binding{}}, by}
		a := &scribe{events: ^cc.EventSet(0)}
		agent, err := NewAgent(AgentConfig{Device: d, Adopt: func(Handle) (cc.Algorithm, error) {
			return a, nil
		}}, 0)
		require.NoError(t, err)
		agent.begin(1, 0)
		for i := range 3 {
			agent.Poll(at(i))
		}
		assert.Equal(t, uint64(max(by, 0)), agent.Counters().Results)
		assert.Empty(t, a.received)
	}
}

// Flows that a driver reports, but for which there is no algorithm, use no memory.
func TestUnknownFlows(t *testing.T) {
	agent, d := newAgent(t, nil, AgentConfig{Adopt: NewHandoff().Adopt})
	for life := range uint32(3) {
		d.say(Message{Flow: NewHandle(MaxFlows-2, life), Type: Started})
	}
	agent.Poll(0)
	assert.EqualValues(t, 4, agent.Counters().Refused, "including the one of newAgent")
	assert.Zero(t, len(agent.flows))
}

// FuzzAgent checks that an agent survives whatever a device returns.
func FuzzAgent(f *testing.F) {
	d := &script{}
	d.say(Message{Flow: 1, Type: Started})
	d.event(1, 5, cc.Event{Kind: cc.RTT, Delay: us, Packets: 1, Bytes: 4096})
	d.event(1, 5, cc.Event{Kind: cc.RTT, Delay: 40 * us, Packets: 1, Bytes: 4096, Endpoint: us,
		LocalGap: 20 * us, RemoteGap: 10 * us, LocalAway: 5 * us, RemoteAway: us})
	d.event(1, 6, cc.Event{Kind: cc.ACK, INT: make([]cc.Hop, 3)})
	d.say(Message{Flow: 1, Type: Stopped})
	f.Add(d.batch)
	f.Fuzz(func(t *testing.T, b []byte) {
		a, d := newAgent(t, algorithm(t, "swift"),
			AgentConfig{Adopt: func(Handle) (cc.Algorithm, error) {
				return algorithm(t, "hpcc"), nil
			}})
		d.batch = b[:min(len(b), 1<<16)]
		a.Poll(at(10))
		for _, r := range d.results {
			require.False(t, r.Decision.Window < 0 || r.Decision.Rate < 0 ||
				r.Decision.Rate > DefaultMaxRate)
		}
	})
}

func TestAgentDoesNotAllocate(t *testing.T) {
	c, err := NewShared(Config{Flows: 8, Aggregation: DefaultAggregation}, AgentConfig{}, nil, 0)
	require.NoError(t, err)
	for range 8 {
		c.Add(algorithm(t, "swift"), 0)
	}
	s := eventlog.New(3, rand.New(rand.NewPCG(1, 2)))
	now := units.Time(0)
	assert.Zero(t, testing.AllocsPerRun(5000, func() {
		now = now.Add(units.Microsecond / 2)
		ev := s.Next(cc.Flow(s.IntN(3)), now)
		c.Report(ev, now)
		c.Poll(now)
		for f, some := c.Changed(); some; f, some = c.Changed() {
			c.Decision(f)
		}
	}))
}

// replay is a device that returns the same batch again and again, with newer times.
type replay struct {
	script
	pattern []byte
	now     units.Time
}

func (d *replay) Fetch(b []byte) int {
	n := copy(b, d.pattern)
	for at := 0; at < n; {
		length, _ := messageLen(b[at:])
		le.PutUint64(b[at+16:], uint64(d.now))
		le.PutUint64(b[at+24:], uint64(d.now))
		at += length
	}
	return n
}
func (d *replay) Write(r []Result) int { return len(r) }

// An event from a fetched batch to the result: the agent's core alone.
func BenchmarkAgent(b *testing.B) {
	for _, text := range []string{"swift", "idctcp", "hpcc", "fixed"} {
		b.Run(text, func(b *testing.B) {
			d := &replay{script: script{size: 4096, bindings: map[Handle]Binding{}}}
			agent, err := NewAgent(AgentConfig{Device: d,
				Adopt: func(Handle) (cc.Algorithm, error) {
					return algorithm(b, text), nil
				}}, 0)
			require.NoError(b, err)
			for f := range Handle(16) {
				d.say(Message{Flow: f, Type: Started})
			}
			d.pattern, d.batch = d.batch, nil
			agent.Poll(0)
			kind := cc.RTT
			if !algorithm(b, text).Events().Has(kind) {
				kind = cc.ACK
			}
			for i := range 32 {
				ev := cc.Event{Kind: kind, PSN: uint32(i), SndNxt: 100, Packets: 1, Bytes: 4096,
					Delay: units.Duration(20+i) * us, InFlight: 100_000}
				if text == "hpcc" {
					ev.INT = []cc.Hop{{Rate: 1}, {Rate: 1}, {Rate: 1}}
				}
				d.event(Handle(i%16), 0, ev)
			}
			d.pattern = d.batch
			b.ReportAllocs()
			report := core(b)
			for i := 0; b.Loop(); i++ {
				if i%32 == 0 {
					d.now = d.now.Add(3 * us)
					agent.Poll(d.now)
				}
			}
			report("Mevents")
		})
	}
}
