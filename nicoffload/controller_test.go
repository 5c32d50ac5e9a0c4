package nicoffload

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/cc/eventlog"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

var seed = flag.Uint64("seed", 0, "of random streams of events; 0 draws one")

func seeded(t testing.TB) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("replay with -seed %d", s)
	return rand.New(rand.NewPCG(s, 1))
}

var everything = cc.Path{
	LineRate: 100 * units.Gbps, BaseRTT: 12 * us, Payload: 4096, Hops: 3, Seed: 7,
	Signals: cc.SignalDelay | cc.SignalEndpoint | cc.SignalMarks | cc.SignalINT | cc.SignalSRC |
		cc.SignalOneWay,
}

func algorithm(t testing.TB, text string) cc.Algorithm {
	spec, err := cc.Parse(text)
	require.NoError(t, err)
	a, err := spec.New(everything)
	require.NoError(t, err)
	return a
}

// specs are all algorithms, with the signals that they need.
func specs() (all []string) {
	for _, name := range cc.Names() {
		switch name {
		case "d2tcp":
			name += ":deadline=1s"
		}
		all = append(all, name)
	}
	return all
}

// When every signal is reported at once, every algorithm of cc decides behind the device exactly as
// in line.
func TestOffloadedIsInline(t *testing.T) {
	for _, text := range specs() {
		t.Run(text, func(t *testing.T) {
			events := eventlog.New(3, seeded(t))
			inline := &cc.Inline{}
			split, err := NewShared(Config{}, AgentConfig{MinRate: 1, MaxRate: math.MaxInt64}, nil,
				0)
			require.NoError(t, err)
			compareWithInline(t, events, text, inline, split, func(units.Time) {})
		})
	}
}

// The same behind a link, with the agent polled after the polling core.
func TestSplitIsInline(t *testing.T) {
	for _, text := range specs() {
		t.Run(text, func(t *testing.T) {
			events := eventlog.New(3, seeded(t))
			split, agent, err := NewLinked(Config{},
				AgentConfig{MinRate: 1, MaxRate: math.MaxInt64},
				ControllerConfig{}, 0)
			require.NoError(t, err)
			compareWithInline(t, events, text, &cc.Inline{}, split, func(now units.Time) {
				agent.Poll(now)
				split.Poll(now.Add(1))
			})
			assert.Zero(t, split.Counters().Silences)
		})
	}
}

func compareWithInline(t *testing.T, events *eventlog.Log, text string, inline *cc.Inline,
	split *Controller, agent func(now units.Time)) {
	now := units.Time(0)
	for range 3 {
		f, g := inline.Add(algorithm(t, text), now), split.Add(algorithm(t, text), now)
		require.Equal(t, f, g)
	}
	decisions := map[cc.Decision]bool{}
	steps := 20_000
	if race.Short() {
		steps = 3000
	}
	for step := range steps {
		now = now.Add(units.Duration(events.IntN(3_000_000)))
		flow := cc.Flow(events.IntN(3))
		ev := events.Next(flow, now)
		for _, c := range []cc.Controller{inline, split} {
			if c.Events(flow).Has(ev.Kind) {
				e := *ev
				c.Report(&e, now)
			}
			c.Poll(now)
		}
		agent(now)
		for f := range cc.Flow(3) {
			want, _ := inline.Decision(f)
			got, _ := split.Decision(f)
			want.WakeAt = 0
			require.Equal(t, want, got, "step %d, flow %d, after %v", step, f, ev.Kind)
			decisions[got] = true
		}
	}
	if text != "fixed" {
		assert.Greater(t, len(decisions), 10, "too few decisions for a comparison")
	}
}

// With two cores, all that is acknowledged on one reaches the other, in order, while flows begin
// and end. This test is also for the race detector.
func TestTwoCores(t *testing.T) {
	c, agent, err := NewLinked(Config{Aggregation: Aggregation{Accumulable: us}}, AgentConfig{},
		ControllerConfig{Silence: -1}, 0)
	require.NoError(t, err)
	var stop atomic.Bool
	done := make(chan struct{})
	now := new(atomic.Int64)
	go func() {
		defer close(done)
		for !stop.Load() {
			agent.Poll(units.Time(now.Load()))
			runtime.Gosched()
		}
	}()
	received := [4]*scribe{}
	flows := [4]cc.Flow{}
	const rounds = 20_000
	for i := range flows {
		received[i] = &scribe{events: cc.Events(cc.ACK), decide: func(ev *cc.Event) cc.Decision {
			return cc.Decision{Window: units.Bytes(ev.PSN) + 1}
		}}
		flows[i] = c.Add(received[i], 0)
	}
	tick := func() {
		c.Poll(units.Time(now.Add(int64(us) / 10)))
		for _, some := c.Changed(); some; _, some = c.Changed() {
		}
	}
	for i := 1; i <= rounds; i++ {
		for _, f := range flows {
			c.Report(&cc.Event{Kind: cc.ACK, Flow: f, PSN: uint32(i), Packets: 1},
				units.Time(now.Load()))
		}
		if i%100 == 0 {
			c.Remove(c.Add(algorithm(t, "swift"), units.Time(now.Load())))
		}
		tick()
	}
	last := func() bool {
		for _, f := range flows {
			if d, _ := c.Decision(f); d.Window != rounds+1 {
				return false
			}
		}
		return true
	}
	for begin := time.Now(); !last(); runtime.Gosched() {
		require.Less(t, time.Since(begin), 20*time.Second, "the last decision does not arrive")
		tick()
	}
	stop.Store(true)
	<-done
	for _, s := range received {
		packets, psn := 0, uint32(0)
		for _, ev := range s.received {
			packets += ev.Packets
			assert.Greater(t, ev.PSN, psn)
			psn = ev.PSN
		}
		assert.Equal(t, rounds, packets)
	}
}

// A flow number is reused; late messages and results do not affect the new flow.
func TestFlowNumbersAreReused(t *testing.T) {
	c, agent, err := NewLinked(Config{}, AgentConfig{}, ControllerConfig{}, 0)
	require.NoError(t, err)
	poll := func(now int) { c.Poll(at(now)); agent.Poll(at(now)); c.Poll(at(now).Add(1)) }
	a := c.Add(algorithm(t, "swift"), 0)
	b := c.Add(algorithm(t, "swift"), 0)
	poll(1)
	before, _ := c.Decision(a)
	c.Report(&cc.Event{Kind: cc.RTT, Flow: a, Delay: 900 * us, Packets: 1, Bytes: 4096}, at(2))
	c.Poll(at(2))
	agent.Poll(at(2)) // it decides
	c.Remove(a)
	c.Remove(a)
	d := c.Add(algorithm(t, "swift"), at(3))
	assert.Equal(t, a, d)
	poll(3)
	got, _ := c.Decision(d)
	assert.Equal(t, before, got)
	assert.NotEqual(t, b, d)
	c.Report(&cc.Event{Kind: cc.RTT, Flow: d, Delay: 900 * us, Packets: 1, Bytes: 4096}, at(4))
	poll(4)
	got, changed := c.Decision(d)
	assert.True(t, changed)
	assert.Less(t, got.Window, before.Window)
	flow, some := c.Changed()
	assert.True(t, some)
	assert.Equal(t, d, flow)
	for range 5000 { // the generation of a handle wraps
		c.Remove(d)
		d = c.Add(algorithm(t, "swift"), at(5))
		poll(5)
	}
	c.Report(&cc.Event{Kind: cc.RTT, Flow: d, Delay: 900 * us, Packets: 1, Bytes: 4096}, at(6))
	poll(6)
	got, _ = c.Decision(d)
	assert.Less(t, got.Window, before.Window)
}

// When an agent is silent for too long, flows keep their decision and get the fallback, until the
// agent fetches again.
func TestSilentAgent(t *testing.T) {
	for name, fallback := range map[string]func(cc.Decision) cc.Algorithm{
		"default": nil,
		"swift":   func(cc.Decision) cc.Algorithm { return algorithm(t, "swift") },
	} {
		t.Run(name, func(t *testing.T) {
			c, agent, err := NewLinked(Config{}, AgentConfig{},
				ControllerConfig{Silence: 100 * us, Fallback: fallback}, 0)
			require.NoError(t, err)
			f := c.Add(algorithm(t, "swift"), 0)
			idle := c.Add(algorithm(t, "swift"), 0)
			c.Poll(0)
			agent.Poll(0)
			c.Poll(1)
			before, _ := c.Decision(f)
			psn := uint32(0)
			congested := func(now int) {
				psn += 10
				c.Report(&cc.Event{Kind: cc.RTT, Flow: f, PSN: psn, SndNxt: psn + 9,
					Delay: 900 * us, Packets: 10, Bytes: 40960, Marked: 1}, at(now))
			}
			for now := range 100 { // the agent does not fetch
				congested(now)
				c.Poll(at(now))
			}
			assert.False(t, c.InFallback())
			got, _ := c.Decision(f)
			assert.Equal(t, before, got, "the last decision applies")
			for now := 100; now < 5000; now++ {
				congested(now)
				c.Poll(at(now))
				for range 3 {
					if _, some := c.Changed(); !some {
						break
					}
				}
			}
			require.True(t, c.InFallback())
			alone, _ := c.Decision(f)
			assert.Less(t, alone.Window, before.Window, "the fallback decides")
			still, _ := c.Decision(idle)
			assert.Equal(t, before, still)
			young := c.Add(algorithm(t, "swift"), at(5000)) // begins during the fallback
			d, _ := c.Decision(young)
			assert.NotZero(t, d.Window)
			c.Remove(idle)

			agent.Poll(at(5001))
			c.Poll(at(5001))
			assert.False(t, c.InFallback())
			agent.Poll(at(5002))
			c.Poll(at(5003))
			back, _ := c.Decision(f)
			assert.Less(t, back.Window, before.Window, "it processed the queued messages")
			assert.Equal(t, [2]uint64{1, 1}, [2]uint64{c.Counters().Silences, c.Counters().Returns})
		})
	}
}

func TestFallbackAIMD(t *testing.T) {
	c := NewFallbackAIMD(cc.Decision{Window: 64 * units.KiB, Rate: 16 * units.Gbps, WakeAt: 5,
		ProbeAt: 6})
	assert.Equal(t, cc.Decision{Window: 64 * units.KiB, Rate: 16 * units.Gbps}, c.Start(0))
	d := c.On(&cc.Event{Kind: cc.OOO, PSN: 10, SndNxt: 26}, 0)
	assert.Equal(t, cc.Decision{Window: 32 * units.KiB, Rate: 8 * units.Gbps}, d)
	d = c.On(&cc.Event{Kind: cc.ECN, PSN: 15, Marked: 1, Packets: 1, SndNxt: 27}, 0)
	assert.Equal(t, 32*units.KiB, d.Window, "one decrease for all packets in flight")
	d = c.On(&cc.Event{Kind: cc.CNP, PSN: 26, SndNxt: 34}, 0)
	assert.Equal(t, 16*units.KiB, d.Window)
	d = c.On(&cc.Event{Kind: cc.ACK, PSN: 34, SndNxt: 38, Packets: 2, Bytes: 8192}, 0)
	assert.Equal(t, cc.Decision{Window: 20 * units.KiB, Rate: 5 * units.Gbps}, d)
	d = c.On(&cc.Event{Kind: cc.ACK, PSN: 36, SndNxt: 40, Packets: 2, Bytes: 8192}, 0)
	assert.Equal(t, 20*units.KiB, d.Window, "one increase per round trip")
	for psn := uint32(40); psn < 1000; psn += 10 {
		d = c.On(&cc.Event{Kind: cc.RTT, PSN: psn, SndNxt: psn, Packets: 2, Bytes: 8192}, 0)
	}
	assert.Equal(t, cc.Decision{Window: 64 * units.KiB, Rate: 16 * units.Gbps}, d, "the maximum")
	assert.Equal(t, cc.Decision{Window: 1},
		NewFallbackAIMD(cc.Decision{Hold: true, Window: 5}).Start(0))
}

func TestControllersRefuse(t *testing.T) {
	_, err := NewController(ControllerConfig{})
	assert.ErrorContains(t, err, "Datapath")
	_, err = NewShared(Config{Queue: 5}, AgentConfig{}, nil, 0)
	assert.ErrorContains(t, err, "power of two")
	_, err = NewShared(Config{}, AgentConfig{MinRate: 5, MaxRate: 4}, nil, 0)
	assert.ErrorContains(t, err, "rates from")
	_, _, err = NewLinked(Config{}, AgentConfig{Batch: 5}, ControllerConfig{}, 0)
	assert.ErrorContains(t, err, "batch of 5 bytes")
	_, err = NewAgent(AgentConfig{}, 0)
	assert.ErrorContains(t, err, "Device")
	_, err = NewHandoff().Adopt(5)
	assert.ErrorContains(t, err, "no algorithm for flow 5.0")
}

// An event through report, message, algorithm, filters and result.
func BenchmarkOffloaded(b *testing.B) {
	bench := func(b *testing.B, c cc.Controller) {
		var flows [16]cc.Flow
		for i := range flows {
			flows[i] = c.Add(algorithm(b, "swift"), 0)
		}
		ev := cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 4096, InFlight: 100_000}
		now := units.Time(0)
		i := 0
		b.ReportAllocs()
		report := core(b)
		for b.Loop() {
			i++
			now = now.Add(80 * units.Nanosecond)
			ev.Flow = flows[i%16]
			ev.PSN = uint32(i) & psnMask
			ev.SndNxt = (ev.PSN + 100) & psnMask
			ev.Delay = units.Duration(20+i%32) * us
			c.Report(&ev, now)
			if i%32 == 0 {
				c.Poll(now)
				for f, some := c.Changed(); some; f, some = c.Changed() {
					c.Decision(f)
				}
			}
		}
		report("Mevents")
	}
	b.Run("inline", func(b *testing.B) { bench(b, &cc.Inline{}) })
	b.Run("shared", func(b *testing.B) {
		c, err := NewShared(Config{Flows: 16, Aggregation: DefaultAggregation}, AgentConfig{}, nil,
			0)
		require.NoError(b, err)
		bench(b, c)
	})
	b.Run("shared, RTT merged", func(b *testing.B) {
		c, err := NewShared(Config{Flows: 16, Aggregation: DefaultAggregation},
			AgentConfig{Bind: func(a cc.Algorithm) Binding {
				n := DefaultBinding(a)
				n.Merged = cc.Events(cc.RTT)
				return n
			}}, nil, 0)
		require.NoError(b, err)
		bench(b, c)
	})
}

// BenchmarkRound measures a round of the polling core with the device, without work and with one
// acknowledgement: two Polls, as in transport.
func BenchmarkRound(b *testing.B) {
	ev := cc.Event{Kind: cc.RTT, Packets: 32, Bytes: 1024, Delay: 10 * us}
	round := func(b *testing.B, c cc.Controller, report bool, agent func(now units.Time)) {
		f := c.Add(algorithm(b, "swift"), 0)
		now := units.Time(0)
		for b.Loop() {
			now = now.Add(500 * units.Nanosecond)
			if report {
				ev.Flow, ev.PSN = f, (ev.PSN+32)&psnMask
				c.Report(&ev, now)
				c.Decision(f)
			}
			c.Poll(now)
			c.Changed()
			c.Poll(now)
			c.Changed()
			agent(now)
		}
	}
	for _, report := range []bool{false, true} {
		name := map[bool]string{false: "idle", true: "RTT"}[report]
		b.Run(name+"/inline", func(b *testing.B) {
			round(b, &cc.Inline{}, report, func(units.Time) {})
		})
		b.Run(name+"/shared", func(b *testing.B) {
			c, err := NewShared(Config{Aggregation: DefaultAggregation}, AgentConfig{}, nil, 0)
			require.NoError(b, err)
			round(b, c, report, func(units.Time) {})
		})
		b.Run(name+"/split, without its agent", func(b *testing.B) {
			c, _, err := NewLinked(Config{Aggregation: DefaultAggregation}, AgentConfig{},
				ControllerConfig{Silence: -1}, 0)
			require.NoError(b, err)
			round(b, c, report, func(units.Time) {
				up := c.path.(*NICSide).up
				up.head.Store(up.own) // as if fetched
			})
		})
	}
}
