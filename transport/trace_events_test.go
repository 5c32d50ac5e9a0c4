package transport

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// recorder is a ring that keeps all its events.
type recorder struct {
	ring   *trace.Ring
	events []trace.Event
}

func newRecorder(sample float64) *recorder {
	r := &recorder{}
	r.ring = trace.NewRing(trace.Config{Name: "test", Sample: sample, Size: 64, Full: r.take})
	return r
}

func (r *recorder) take() {
	r.ring.Take(func(ev *trace.Event) { r.events = append(r.events, *ev) })
}

// of returns the events of a kind.
func (r *recorder) of(kind trace.Kind) (some []trace.Event) {
	r.take()
	for _, ev := range r.events {
		if ev.Kind == kind {
			some = append(some, ev)
		}
	}
	return some
}

// traced makes both ends of a pair record.
func (p *pair) traced(sample float64) (a, b *recorder) {
	a, b = newRecorder(sample), newRecorder(sample)
	p.a.trace, p.b.trace = newTracer(a.ring, p.a), newTracer(b.ring, p.b)
	return a, b
}

// TestTraceAgreesWithStats loses packets both ways, with and without selective repeat, and compares
// the events with the statistics, and the run with one that is not traced.
func TestTraceAgreesWithStats(t *testing.T) {
	for _, o := range []sideOptions{defaults(), selective()} {
		run := func(p *pair) (a, b *side) {
			a, b = p.connected(o)
			n := 0
			p.la.tamper = func([]byte) int {
				if n++; n%13 == 0 {
					return 0
				}
				return 1
			}
			for i := range 16 {
				b.recv(t, uint64(i), 0, 8000)
				a.post(t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true,
					SGList: []SGE{a.mr.SGE(0, 8000)}})
			}
			p.await(a, 16)
			return a, b
		}
		plain := newPair(t)
		run(plain)
		p := newPair(t)
		ra, rb := p.traced(1)
		a, b := run(p)
		require.Equal(t, plain.now, p.now, "tracing changes nothing")
		require.Equal(t, plain.a.counters, p.a.counters)
		require.Equal(t, plain.b.counters, p.b.counters)

		sa, sb := a.qp.Stats(), b.qp.Stats()
		require.Positive(t, sa.Retransmitted)
		sent, again := ra.of(trace.PacketSent), ra.of(trace.PacketRetransmitted)
		require.Len(t, again, int(sa.Retransmitted))
		require.Len(t, sent, int(sa.PacketsSent-sa.Retransmitted))
		for _, ev := range again {
			require.Contains(t, []trace.Reason{trace.LostNAK, trace.LostSACK, trace.LostTimeout},
				ev.Reason)
		}
		require.Len(t, ra.of(trace.Timeout), int(sa.Timeouts))
		require.Len(t, ra.of(trace.NAKReceived), int(p.a.counters.SequenceNaks))
		accepted, bytes := 0, units.Bytes(0)
		for _, ev := range rb.of(trace.PacketReceived) {
			if ev.Reason == trace.NoReason {
				accepted++
			}
			require.Equal(t, b.qp.Num, ev.QP)
		}
		require.Equal(t, accepted, int(sb.PacketsReceived-p.b.counters.Held+
			p.b.counters.HeldDropped))
		for _, ev := range ra.of(trace.AckReceived) {
			bytes += ev.Bytes
		}
		require.EqualValues(t, 16*8000, bytes)
		states := ra.of(trace.StateChanged)
		require.Len(t, states, 3)
		require.Equal(t, trace.RTS, states[2].To)
		require.Equal(t, "error", trace.State(Errored).String())
	}
}

// TestTraceSampled checks that a sampled log has the sampled PSNs at both ends, all that is rare,
// and exact totals.
func TestTraceSampled(t *testing.T) {
	p := newPair(t)
	ra, rb := p.traced(0.1)
	a, b := p.connected(defaults())
	p.la.tamper = losing(1000)
	for range 100 {
		b.recv(t, 0, 0, 20<<10)
		a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20<<10)}})
		p.await(a, 1)
	}
	sent := ra.of(trace.PacketSent)
	require.InDelta(t, 200, len(sent), 20)
	received := map[wire.PSN]bool{}
	for _, ev := range rb.of(trace.PacketReceived) {
		received[ev.PSN] = true
	}
	for i, ev := range sent {
		require.True(t, received[ev.PSN])
		if i > 0 { // the packets between the two left, too
			between := uint64(ev.PSN.Sub(sent[i-1].PSN))
			require.GreaterOrEqual(t, ev.Packets-sent[i-1].Packets, between)
		}
	}
	require.Len(t, ra.of(trace.PacketRetransmitted), int(a.qp.Stats().Retransmitted))
	require.Positive(t, a.qp.Stats().Retransmitted)
}

// TestTraceLimits checks what limits senders in constructed cases.
func TestTraceLimits(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(o *sideOptions)
		want trace.Reason
		recv bool
	}{
		"window": {func(o *sideOptions) { o.algorithm = &cc.Fixed{Window: 2048} },
			trace.LimitWindow, true},
		"pace": {func(o *sideOptions) {
			o.algorithm = &cc.Fixed{Window: units.MiB, Rate: 500 * units.Mbps}
		}, trace.LimitPace, true},
		"receiver":   {func(*sideOptions) {}, trace.LimitNotReady, false},
		"send queue": {func(o *sideOptions) { o.depth = 4 }, trace.LimitQueue, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			ra, _ := p.traced(0)
			o := defaults()
			c.set(&o)
			if !c.recv {
				o.algorithm = &cc.Fixed{Window: units.MiB}
			}
			a, b := o.make(t, p.a), o.make(t, p.b)
			a.connect(t, o, b)
			b.connect(t, o, a)
			end := p.now.Add(20 * units.Millisecond)
			for i := 0; p.now.Before(end); i++ {
				for a.qp.SendRoom() > 0 {
					a.post(t, WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 8000)},
						Signaled: true})
				}
				for c.recv && b.qp.PostRecv(&RecvRequest{SGList: []SGE{b.mr.SGE(0, 8000)}}) == nil {
				}
				next := p.step()
				a.poll()
				b.poll()
				p.now = max(p.now+1, min(next, end))
			}
			p.a.Close()
			spent := map[trace.Reason]units.Duration{}
			total := units.Duration(0)
			for _, ev := range ra.of(trace.Limited) {
				spent[ev.Reason] += ev.Delay
				total += ev.Delay
			}
			require.InEpsilon(t, float64(20*units.Millisecond), float64(total), 0.05)
			require.Greater(t, spent[c.want], total/2, "%v", spent)
		})
	}
}

// TestTraceDoesNotAllocate checks a recorded event of each packet, and a full ring.
func TestTraceDoesNotAllocate(t *testing.T) {
	for _, full := range []bool{false, true} {
		o := defaults()
		o.mtu, o.sges = 4*units.KiB, 1
		p, as, bs := crossedPair(t, o, 1)
		rings := traceTo(p, 1)
		s := newStream(p, as[0], bs[0], OpSend, 32)
		s.burst(packet.Burst)
		require.Zero(t, testing.AllocsPerRun(200, func() {
			s.burst(packet.Burst)
			for _, r := range rings {
				if !full {
					r.Take(func(*trace.Event) {})
				}
			}
		}))
	}
}

// traceTo makes both ends of a pair record in rings that nothing empties.
func traceTo(p *pair, sample float64) (rings []*trace.Ring) {
	for _, e := range []*Endpoint{p.a, p.b} {
		r := trace.NewRing(trace.Config{Sample: sample, Size: 1 << 12})
		e.trace = newTracer(r, e)
		rings = append(rings, r)
	}
	return rings
}

// BenchmarkMessageTraced is BenchmarkMessage's SEND with the log off and on; the rings are emptied
// by the same core, so that the figure is what recording and reading cost together.
func BenchmarkMessageTraced(b *testing.B) {
	for _, sample := range []float64{-1, 0, 0.01, 0.1, 1} {
		for _, size := range []int{32, 4096} {
			b.Run(fmt.Sprintf("sample=%v/%d", sample, size), func(b *testing.B) {
				o := defaults()
				o.mtu, o.sges = 4*units.KiB, 1
				p, as, bs := crossedPair(b, o, 1)
				var rings []*trace.Ring
				if sample >= 0 {
					rings = traceTo(p, sample)
				}
				s := newStream(p, as[0], bs[0], OpSend, size)
				events := 0
				b.ReportAllocs()
				b.ResetTimer()
				for n := b.N; n > 0; n -= packet.Burst {
					s.burst(packet.Burst)
					for _, r := range rings {
						events += r.Take(func(*trace.Event) {})
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
				b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			})
		}
	}
}
