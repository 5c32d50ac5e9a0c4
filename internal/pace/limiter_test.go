package pace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

const length = 4096 * units.Bytes(1)

// departure is a packet that a port sent.
type departure struct {
	flow   uint32
	at     units.Time
	start  units.Time     // exact
	unused units.Duration // the port had nothing to do meanwhile
}

// port sends the packets of flows that always have another one, each as soon as limiter and link
// permit.
type port struct {
	*pace.Limiter
	link units.BitRate // 0: infinitely fast
	now  units.Time
	free units.Time // when the frame on the wire ends
	idle []gap      // in which the port had nothing to send, the newest last
}

type gap struct{ from, to units.Time }

// run runs until a time, exclusive.
func (p *port) run(until units.Time, sent func(departure) (more bool)) {
	for p.now.Before(until) {
		for {
			f, some := p.Head(p.now)
			if !some || p.free.After(p.now) {
				break
			}
			p.Sent(f, length)
			if p.free.Before(p.now) {
				p.idle = append(p.idle, gap{p.free, p.now})
			}
			p.free = p.now
			if p.link > 0 {
				p.free = p.now.Add(p.link.Duration(length))
			}
			if sent(departure{f, p.now, p.Started(f), p.unused(p.Started(f))}) {
				p.Again(f, length)
			}
		}
		next, some := p.Next()
		if p.free.After(p.now) && (!some || p.free.Before(next)) {
			next, some = p.free, true
		}
		if !some {
			return
		}
		p.now = next
	}
}

// unused returns the time since a moment in which the port was idle.
func (p *port) unused(since units.Time) (d units.Duration) {
	for i := len(p.idle) - 1; i >= 0 && p.idle[i].to.After(since); i-- {
		from := p.idle[i].from
		if from.Before(since) {
			from = since
		}
		d += p.idle[i].to.Sub(from)
	}
	return d
}

func (p *port) backlog(rates ...units.BitRate) {
	for f, r := range rates {
		p.Rate(uint32(f), r, p.now)
		p.Wait(uint32(f), length, p.now)
	}
}

func nanoseconds(ts ...float64) (out []units.Time) {
	for _, t := range ts {
		out = append(out, units.Time(t*1000))
	}
	return out
}

// With two flows of 100 and 50 Gb/s the starts are exact; the wheel rounds releases up.
func TestLimiterWorkedExample(t *testing.T) {
	p := &port{Limiter: pace.NewLimiter(0, pace.PacketSlot)}
	p.backlog(100*units.Gbps, 50*units.Gbps)
	var starts, times [2][]units.Time
	var order []uint32
	p.run(units.Time(units.Millisecond)+units.Time(pace.PacketSlot), func(d departure) bool {
		if d.start < units.Time(units.Millisecond) {
			starts[d.flow] = append(starts[d.flow], d.start)
			times[d.flow] = append(times[d.flow], d.at)
			order = append(order, d.flow)
		}
		return true
	})
	require.Equal(t, nanoseconds(0, 327.68, 655.36, 983.04), starts[0][:4])
	require.Equal(t, nanoseconds(0, 655.36), starts[1][:2])
	require.Equal(t, nanoseconds(0, 328, 656, 984), times[0][:4])
	require.Equal(t, nanoseconds(0, 656), times[1][:2])
	require.Equal(t, []uint32{0, 1, 0, 0, 1, 0}, order[:6],
		"of two starts at 655.36 the earlier finish")
	require.Len(t, starts[0], 3052)
	require.Len(t, starts[1], 1526)
}

// A new rate counts from the start of the packet before.
func TestLimiterRateChange(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(p *port)
		want  []float64
	}{
		{"up after the packet", func(p *port) {
			p.Rate(0, 200*units.Gbps, p.now)
		}, []float64{0, 328, 496}},
		{"down after the packet", func(p *port) {
			p.Rate(0, 50*units.Gbps, p.now)
		}, []float64{0, 328, 984}},
		{"down and up", func(p *port) {
			p.Rate(0, units.Kbps, p.now)
			p.Rate(0, 100*units.Gbps, p.now)
		}, []float64{0, 328, 656}},
		{"a pause", func(p *port) { p.Rate(0, 0, p.now) }, []float64{0, 328}},
		{"a pause and on", func(p *port) {
			p.Rate(0, 0, p.now)
			p.Rate(0, 100*units.Gbps, p.now)
		}, []float64{0, 328, 656}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &port{Limiter: pace.NewLimiter(0, pace.PacketSlot)}
			p.backlog(100 * units.Gbps)
			var got []units.Time
			p.run(units.Time(2*us), func(d departure) bool {
				if got = append(got, d.at); len(got) == 2 {
					c.after(p)
				}
				return len(got) < len(c.want)
			})
			assert.Equal(t, nanoseconds(c.want...), got)
		})
	}
}

// A packet in the wheel is rescheduled when the rate rises.
func TestLimiterRateRisesWhileAPacketWaits(t *testing.T) {
	p := &port{Limiter: pace.NewLimiter(0, pace.PacketSlot)}
	p.backlog(100 * units.Kbps)
	n := 0
	p.run(units.Time(us), func(departure) bool { n++; return true })
	require.Equal(t, 1, n)
	next, _ := p.Next()
	require.Equal(t, units.Time(327_680*us), next)
	p.now = units.Time(50 * ms)
	_, some := p.Head(p.now)
	require.False(t, some)

	p.Rate(0, 1*units.Mbps, p.now) // 32.768 ms: has passed
	next, _ = p.Next()
	require.False(t, next.After(p.now))
	p.Rate(0, 500*units.Kbps, p.now) // 65.536 ms
	next, _ = p.Next()
	require.Equal(t, units.Time(65_536*us), next)
	p.Rate(0, 50*units.Kbps, p.now)
	next, _ = p.Next()
	require.Equal(t, units.Time(655_360*us), next)
}

// A flow earns no credit while it has nothing to send, is paused, or waits for a busy port.
func TestLimiterGivesNoBursts(t *testing.T) {
	const rate = 100 * units.Gbps
	for _, c := range []struct {
		name string
		gap  func(p *port)
	}{
		{"idle", func(p *port) { p.Leave(0); p.now = p.now.Add(ms); p.Wait(0, length, p.now) }},
		{"paused", func(p *port) {
			p.Rate(0, 0, p.now)
			p.now = p.now.Add(ms)
			p.Rate(0, rate, p.now)
		}},
		{"port busy", func(p *port) {
			for range 1000 { // polled meanwhile, like a receiving endpoint
				p.now = p.now.Add(us)
				p.Head(p.now)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &port{Limiter: pace.NewLimiter(0, pace.PacketSlot)}
			p.backlog(rate)
			p.run(units.Time(us), func(departure) bool { return true })
			c.gap(p)
			from, n := p.now, 0
			p.run(from.Add(10*us), func(departure) bool { n++; return true })
			// what passed since the poll before, and two ends
			most := int(rate.Bytes(10*us+2*us)/length) + 2
			require.LessOrEqual(t, n, most)
			require.GreaterOrEqual(t, n, int(rate.Bytes(10*us)/length))
		})
	}
}

// A fast flow keeps its rate although polls are rare.
func TestLimiterCatchesUpSinceThePollBefore(t *testing.T) {
	l := pace.NewLimiter(0, pace.PacketSlot)
	l.Rate(0, 400*units.Gbps, 0)
	l.Wait(0, length, 0)
	n := 0
	for now := units.Time(0); now <= units.Time(ms); now = now.Add(us) {
		for f, some := l.Head(now); some; f, some = l.Head(now) {
			l.Sent(f, length)
			l.Again(f, length)
			n++
		}
	}
	require.InDelta(t, int((400*units.Gbps).Bytes(ms)/length), n, 2)
}

// A packet sent without Wait counts, and a flow without a rate waits for one.
func TestLimiterFlowsWithoutARate(t *testing.T) {
	l := pace.NewLimiter(0, pace.PacketSlot)
	l.Rate(5, 0, 0)
	l.Wait(5, length, 0)
	l.Wait(5, length, 0)
	_, some := l.Head(0)
	require.False(t, some)
	l.Rate(5, units.Gbps, 0)
	f, some := l.Head(0)
	require.True(t, some)
	require.Equal(t, uint32(5), f)
	l.Rate(5, 0, 0)
	l.Sent(5, length)
	l.Again(5, length)
	_, some = l.Head(units.Time(units.Second))
	require.False(t, some)
	_, some = l.Next()
	require.False(t, some)

	l.Rate(6, units.Gbps, units.Time(units.Second))
	l.Sent(6, length)
	l.Wait(6, length, units.Time(units.Second))
	next, _ := l.Next()
	require.Equal(t,
		ceil(units.Time(units.Second).Add(units.Gbps.Duration(length)), 0, pace.PacketSlot), next)
	l.Forget(6)
	l.Forget(1000) // an unknown flow
	_, some = l.Next()
	require.False(t, some)
}

// A finish of a hundred days ago, which has wrapped into the future, does not delay a flow.
func TestLimiterAfterAVeryLongTime(t *testing.T) {
	l := pace.NewLimiter(0, pace.PacketSlot)
	l.Rate(0, units.Gbps, 0)
	l.Sent(0, length)
	now := units.Time(0).Add(units.Forever).Add(units.Forever).Add(units.Second)
	l.Head(units.Time(0).Add(units.Forever))
	l.Head(now)
	l.Wait(0, length, now)
	next, _ := l.Next()
	require.LessOrEqual(t, next.Sub(now), pace.PacketSlot)
}

// Ten thousand flows of random rates use 95 % of a link. Each gets its rate over a millisecond, or
// over a hundred packets if that is longer. A packet leaves more than a slot after its start only
// if the port was busy.
func TestLimiterTenThousandFlows(t *testing.T) {
	n := 10_000
	if race.Short() {
		n = 1000
	}
	const link = 400 * units.Gbps
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	rates, sum := make([]units.BitRate, n), 0.
	for f := range rates { // as many bits in each decade
		rates[f] = units.BitRate(min(float64(100*units.Kbps)/(1-r.Float64()),
			float64(400*units.Gbps)))
		sum += float64(rates[f])
	}
	for f := range rates {
		rates[f] = units.BitRate(float64(rates[f]) * 0.95 * float64(link) / sum)
	}
	p := &port{Limiter: pace.NewLimiter(0, pace.PacketSlot), link: link}
	p.backlog(rates...)
	over, sent := make([]units.Time, n), make([]int, n)
	last := make([]units.Time, n)
	for f, rate := range rates {
		over[f] = units.Time(max(ms, 100*rate.Duration(length)))
	}
	worst, packets := units.Duration(0), 0
	p.run(slices.Max(over), func(d departure) bool {
		packets++
		worst = max(worst, d.unused)
		if d.unused >= pace.PacketSlot {
			t.Fatalf("flow %d: a packet of %v left at %v, and the port was idle for %v between",
				d.flow, d.start, d.at, d.unused)
		}
		if d.start.Before(last[d.flow]) {
			t.Fatalf("flow %d: a packet of %v after one of %v", d.flow, d.start, last[d.flow])
		}
		last[d.flow] = d.start
		if d.at.Before(over[d.flow]) {
			sent[d.flow]++
		}
		return d.at.Before(over[d.flow])
	})
	t.Logf("%d packets; at most %v late without the port being busy", packets, worst)
	for f, rate := range rates {
		want := float64(rate) / 8 / float64(length) * units.Duration(over[f]).Seconds()
		// One more packet may start at the end.
		require.InDelta(t, want, float64(sent[f]), 0.005*want+1, "flow %d of %v", f, rate)
	}
}

func TestLimiterDoesNotAllocate(t *testing.T) {
	p := &port{Limiter: pace.NewLimiter(0, pace.PacketSlot)}
	p.backlog(slices.Repeat([]units.BitRate{units.Gbps}, 1000)...)
	p.idle = make([]gap, 0, 1<<20)
	round := func() { p.run(p.now.Add(100*us), func(departure) bool { return true }) }
	round()
	assert.Zero(t, testing.AllocsPerRun(20, round))
}

// BenchmarkLimiter measures a packet through a limiter with flows that share 400 Gb/s, with a poll
// per packet time on the link.
func BenchmarkLimiter(b *testing.B) {
	for _, n := range []int{1, 100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const link = 400 * units.Gbps
			l, now := pace.NewLimiter(0, pace.PacketSlot), units.Time(0)
			r := rand.New(rand.NewPCG(1, 2))
			for f := range uint32(n) {
				l.Rate(f, link/units.BitRate(n)*units.BitRate(50+r.IntN(100))/100, 0)
				l.Wait(f, length, 0)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; {
				now = now.Add(8 * link.Duration(length))
				for f, some := l.Head(now); some && i < b.N; f, some = l.Head(now) {
					l.Sent(f, length)
					l.Again(f, length)
					i++
				}
			}
		})
	}
}
