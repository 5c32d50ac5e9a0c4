package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// pipePair is a connection over ports without time stamps, on which nothing takes any time: all
// delay is in the hosts.
func pipePair(t *testing.T, features wire.Features) (p *pair, a, b *side, s *steered) {
	pa, pb := packet.Pipe(packet.PipeOptions{})
	return pairOver(t, features, pa, pb)
}

func pairOver(t *testing.T, features wire.Features, pa, pb packet.Port) (p *pair, a, b *side,
	s *steered) {
	p = &pair{t: t}
	var err error
	p.a, err = New(Config{Port: pa, Addrs: prefixes("10.0.0.1/24"), Seed: 1}, 0)
	require.NoError(t, err)
	p.b, err = New(Config{Port: pb, Addrs: prefixes("10.0.0.2/24"), Seed: 2}, 0)
	require.NoError(t, err)
	s = &steered{decision: cc.Decision{Window: units.MiB}}
	o := defaults()
	o.features, o.timeout = features, 14
	server := o
	o.algorithm = s
	a, b = o.make(t, p.a), server.make(t, p.b)
	s.qp = a.qp
	a.connect(t, o, b)
	b.connect(t, server, a)
	for range 8 { // the neighbours resolve each other
		p.poll()
	}
	a.write(t, b, 8)
	for range 8 {
		p.poll()
	}
	require.Len(t, a.poll(), 1)
	a.comp, s.received, s.at = nil, nil, nil
	return p, a, b, s
}

// micros are the parts of a delay sample, in microseconds.
type micros struct{ delay, endpoint, localGap, remoteGap, localAway, remoteAway float64 }

func microsOf(ev *cc.Event) micros {
	return micros{ev.Delay.Microseconds(), ev.Endpoint.Microseconds(), ev.LocalGap.Microseconds(),
		ev.RemoteGap.Microseconds(),
		ev.LocalAway.Microseconds(), ev.RemoteAway.Microseconds()}
}

// schedule is a list of times in microseconds since both ends last found their ports empty: the
// client sends until sent, the server polls, responds and is done, and the client polls for the
// answer.
type schedule struct{ sends, sent, looks, answers, done, sees int }

func (p *pair) follow(s schedule, post func()) {
	start := p.now
	moment := func(micros int) units.Time {
		p.now = start.Add(units.Duration(micros) * us)
		return p.now
	}
	for _, e := range []*Endpoint{p.a, p.b} {
		e.Poll(start)
		e.Ended(start)
	}
	post()
	p.a.Loop().Receive(moment(s.sends))
	p.a.Loop().Transmit(moment(s.sends))
	p.a.Ended(moment(s.sent))
	p.b.Loop().Receive(moment(s.looks))
	p.b.Loop().Transmit(moment(s.answers))
	p.b.Ended(moment(s.done))
	p.a.Loop().Receive(moment(s.sees))
	p.a.Loop().Transmit(p.now)
	p.a.Ended(p.now)
}

// Without time stamps a delay sample has bounds: the packet left at some time in its round, and
// each frame arrived at some time since its port was last polled.
func TestGapsOfASample(t *testing.T) {
	const (
		told = wire.FeatureTiming | wire.FeatureProbe
		none = wire.Features(0)
	)
	for _, c := range []struct {
		name     string
		features wire.Features
		schedule schedule
		data     micros // of the sample of a WRITE
		probe    micros // of that of a probe
	}{
		{"polled all the time", told, schedule{sends: 1, sent: 1, looks: 1, answers: 1, done: 1,
			sees: 1},
			micros{0, 0, 0, 1, 0, 1}, micros{0, 0, 0, 1, 0, 0}},
		{"the server works for 10 us", told, schedule{sends: 1, sent: 1, looks: 1, answers: 11,
			done: 11, sees: 11},
			micros{10, 10, 10, 1, 10, 1}, micros{10, 10, 10, 1, 10, 0}},
		{"the server naps for 10 us", told, schedule{sends: 1, sent: 1, looks: 10, answers: 12,
			done: 12, sees: 12},
			micros{11, 2, 11, 10, 11, 10}, micros{11, 2, 11, 10, 11, 0}},
		{"both, and the client takes 2 us to send", told,
			schedule{sends: 1, sent: 3, looks: 10, answers: 12, done: 13, sees: 20},
			micros{19, 2, 19 + 2, 10, 17, 10}, micros{19, 2, 19 + 2, 10, 17, 0}},
		{"the client loses its core as it sends; 16 bits round the gap of a probe up", told,
			schedule{sends: 1, sent: 301, looks: 310, answers: 310, done: 310, sees: 310},
			micros{309, 0, 309 + 300, 310, 9 + 300 + 300, 310}, micros{309, 0, 309 + 300, 310.016,
				9 + 300 + 300, 0}},
		{"the server loses its core as it responds", told,
			schedule{sends: 1, sent: 1, looks: 2, answers: 1002, done: 1003, sees: 1003},
			micros{1002, 1000, 1002, 2, 1002, 2}, micros{1002, 1000, 1002, 2, 1002, 0}},
		{"a server that reports nothing", none, schedule{sends: 1, sent: 3, looks: 10, answers: 12,
			done: 13, sees: 20},
			micros{19, 0, 19 + 2, 0, 17, 0}, micros{19, 0, 19 + 2, 0, 17, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, a, b, s := pipePair(t, c.features)
			p.follow(c.schedule, func() { a.write(t, b, 64) })
			require.Len(t, s.samples(), 1)
			assert.Equal(t, c.data, microsOf(&s.samples()[0]))
			p.now = p.now.Add(units.Millisecond)
			p.poll()
			s.received = nil
			p.follow(c.schedule, func() { s.probeAt(p.now) })
			require.Len(t, s.samples(), 1)
			require.True(t, s.samples()[0].Probe)
			assert.Equal(t, c.probe, microsOf(&s.samples()[0]))
		})
	}
}

// samples returns the delay samples that the algorithm got.
func (s *steered) samples() (evs []cc.Event) {
	for _, ev := range s.received {
		if ev.Kind == cc.RTT {
			evs = append(evs, ev)
		}
	}
	return evs
}

// Whatever the hosts did, the true delay of the fabric, which is zero here, is within the bounds.
func TestTrueDelayIsWithinBounds(t *testing.T) {
	p, a, b, s := pipePair(t, wire.FeatureTiming)
	seed := testSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	pick := rng.IntN
	for range 300 {
		sc := schedule{sends: pick(20)}
		sc.sent = sc.sends + pick(400)
		sc.looks = max(sc.sends, pick(500))
		sc.answers = sc.looks + pick(400)
		sc.done = sc.answers + pick(10)
		sc.sees = max(sc.done, sc.sent) + pick(300)
		s.received = nil
		p.now = p.now.Add(units.Duration(1+pick(1000)) * us)
		p.follow(sc, func() { a.write(t, b, 64) })
		require.Len(t, s.samples(), 1, "%+v", sc)
		ev := s.samples()[0]
		least, _, ok := ev.Fabric()
		require.True(t, ok || ev.Delay == ev.Endpoint, "%+v: %+v", sc, ev)
		require.LessOrEqual(t, least, units.Duration(1), "%+v: %+v", sc, ev)
		a.poll()
		a.comp = nil
	}
}

// coalescingPort is a port whose frames may arrive late although it is polled.
type coalescingPort struct {
	packet.Port
	held units.Duration
}

func (p coalescingPort) Info() packet.Info {
	i := p.Port.Info()
	i.RxCoalescing = p.held
	return i
}

// A frame that the port may have held arrived at some time in the poll gap and the holding time
// before it, in which the host did not work on it.
func TestCoalescingWidensTheGap(t *testing.T) {
	pa, pb := packet.Pipe(packet.PipeOptions{})
	p, a, b, s := pairOver(t, wire.FeatureTiming, coalescingPort{pa, 50 * us},
		coalescingPort{pb, 30 * us})
	p.follow(schedule{sends: 1, sent: 3, looks: 10, answers: 12, done: 13, sees: 20},
		func() { a.write(t, b, 64) })
	require.Len(t, s.samples(), 1)
	assert.Equal(t, micros{19, 2, 50 + 19 + 2, 30 + 10, 50 + 17, 30 + 10},
		microsOf(&s.samples()[0]))
}

// stampedLink is a link that reports time stamps.
type stampedLink struct{ *link }

func (l stampedLink) Info() packet.Info {
	i := l.link.Info()
	i.Timestamps = true
	return i
}

// With time stamps nothing is uncertain: there are no gaps, and no GAP on the wire unless a host
// was away.
func TestNoGapsWithTimeStamps(t *testing.T) {
	for _, c := range []struct {
		name string
		late units.Duration // delay of each end's polls
	}{{"polled in time", 0}, {"polled late", 7 * us}} {
		p, a, b, s := steeredPair(t, func() sideOptions {
			o := probing()
			o.features |= wire.FeatureTiming
			return o
		}())
		for range 20 {
			a.write(t, b, 3000)
			p.a.Poll(p.now)
			p.now = p.now.Add(us + c.late)
			p.b.Poll(p.now)
			p.now = p.now.Add(us + c.late)
			p.a.Poll(p.now)
			p.await(a, 1)
			s.probeAt(p.now)
			p.settle(10 * us)
		}
		require.Greater(t, len(s.samples()), 30)
		for _, ev := range s.samples() {
			assert.Zero(t, ev.LocalGap, c.name)
			assert.Zero(t, ev.RemoteGap, c.name)
			assert.LessOrEqual(t, ev.LocalAway+ev.RemoteAway, ev.Endpoint,
				"%s: it is part of the known delay", c.name)
		}
		for _, pkt := range p.lb.packets() {
			switch pkt.Op {
			case wire.XACK:
				if c.late == 0 {
					assert.Nil(t, extension.TLVs(pkt.TLVs()).Gap(), c.name)
				} else if g := extension.TLVs(pkt.TLVs()).Gap(); g != nil {
					assert.Zero(t, g.Gap(), c.name)
				}
			case wire.ProbeAck:
				assert.Zero(t, extension.ProbeEcho(pkt.Body()).Gap(), c.name)
			}
		}
	}
}

// The wait for a host that polls and works is its load; the wait for a host that is away is not.
func TestWorked(t *testing.T) {
	for _, c := range []struct {
		gap, away, worked units.Duration
		uncertain         bool
	}{{0, 0, 0, false}, {5 * us, 0, 5 * us, true}, {5 * us, 2 * us, 3 * us, true},
		{0, 7 * us, 0, true}} {
		p := presence{gap: c.gap, away: c.away}
		assert.Equal(t, c.worked, p.worked(), c)
		assert.Equal(t, c.uncertain, p.uncertain(), c)
	}
}

// A timeout that expires while an endpoint is away waits until the endpoint has handled everything
// that arrived meanwhile, which may include the acknowledgement.
func TestTimeoutWaitsForWhatArrived(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int            // frames that arrive before the acknowledgement
		away   units.Duration // for which the client does not poll
		lost   bool           // the acknowledgement
		want   uint64         // timeouts
	}{
		{"the acknowledgement is in the second burst", packet.Burst, 10 * units.Millisecond, false,
			0},
		{"it is in the first", 3, 10 * units.Millisecond, false, 0},
		{"it is in neither", packet.Burst, 10 * units.Millisecond, true, 1},
		{"it is not in the only one", 3, 10 * units.Millisecond, true, 1},
		{"not away: the acknowledgement is late", packet.Burst, 0, false, 1},
	} {
		p := newPair(t)
		o := defaults()
		server := o
		server.timeout = 20
		a, b := o.make(t, p.a), server.make(t, p.b)
		a.connect(t, o, b)
		b.connect(t, server, a)
		p.settle(10 * us)
		a.write(t, b, 64)
		p.a.Poll(p.now)
		for range c.before {
			b.write(t, a, 8)
		}
		p.b.Poll(p.now)
		if c.lost {
			p.lb.tamper = func([]byte) int { return 0 }
		}
		p.now = p.now.Add(us)
		p.b.Poll(p.now) // it sends the acknowledgement
		p.lb.tamper = nil
		rto := wire.AckTimeout(o.timeout)
		last := p.now
		for c.away == 0 && last.Sub(p.now) <= rto {
			last = last.Add(50 * us)
			p.a.rounds.begin(last, &p.a.stake)
			p.a.rounds.drained()
			p.a.rounds.transmits(last, &p.a.stake)
		}
		p.now = last.Add(max(c.away, 2*us))
		for range 4 {
			p.a.Poll(p.now)
			p.now = p.now.Add(2 * us)
		}
		assert.Equal(t, c.want, p.a.counters.Timeouts, c.name)
	}
}

// A peer that reported that it was away has more time to respond, because its responses are late
// without a loss.
func TestTimeoutAllowsForAPeerThatIsAway(t *testing.T) {
	for _, features := range []wire.Features{0, wire.FeatureTiming} {
		p, a, b, _ := pipePair(t, features)
		a.qp.loss.timeout, a.qp.loss.cold().timeoutFew = units.Millisecond, units.Millisecond
		was := a.qp.cong.peerAway.allowance()
		assert.Zero(t, was)
		p.follow(schedule{looks: 800, answers: 800, done: 800, sees: 801}, func() {
			a.write(t, b, 64)
		})
		require.Zero(t, p.a.counters.Timeouts)
		p.now = p.now.Add(us)
		a.write(t, b, 64)
		p.a.Poll(p.now)
		want := units.Millisecond
		if features != 0 {
			want += 1600 * us
		}
		assert.InDelta(t, want.Microseconds(), a.qp.loss.rtoAt.Sub(p.now).Microseconds(), 1e-6)
		a.qp.Modify(Reset, QPAttr{})
		assert.Zero(t, a.qp.cong.peerAway, "it belongs to the former connection's peer")
	}
}

// Gaps allocate nothing, with probes or without.
func TestGapsAllocateNothing(t *testing.T) {
	for _, op := range []Op{OpSend, OpWrite, OpRead} {
		o := defaults()
		o.mtu, o.sges, o.reads, o.features = 4*units.KiB, 1, 64,
			wire.FeatureTiming|wire.FeatureProbe
		received := 0
		a := &steered{deaf: true, decision: cc.Decision{Window: units.MiB}}
		a.on = func(ev *cc.Event, _ units.Time) {
			if ev.Kind == cc.RTT && ev.LocalGap > 0 && (ev.RemoteGap > 0 || op == OpRead) {
				received++
			}
		}
		o.algorithm = a
		p := &pair{t: t, tick: us}
		la, lb := newCrossing(2048)
		var err error
		p.a, err = New(Config{Port: la, Addrs: prefixes("10.0.0.1/24"), Seed: 1}, 0)
		require.NoError(t, err)
		p.b, err = New(Config{Port: lb, Addrs: prefixes("10.0.0.2/24"), Seed: 2}, 0)
		require.NoError(t, err)
		server := o
		server.algorithm = nil
		as, bs := o.make(t, p.a), server.make(t, p.b)
		as.connect(t, o, bs)
		bs.connect(t, server, as)
		s := newStream(p, as, bs, op, 8000)
		round := func() {
			p.a.Ended(p.now)
			p.b.Ended(p.now)
			s.burst(packet.Burst)
		}
		round()
		round()
		received = 0
		require.Zero(t, testing.AllocsPerRun(50, round), op.String())
		require.Positive(t, received, op.String())
	}
}
