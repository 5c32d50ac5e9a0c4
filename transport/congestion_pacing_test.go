package transport

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// slotOf returns the first slot not before t.
func slotOf(t units.Time, slot units.Duration) units.Time {
	return (t + units.Time(slot) - 1) / units.Time(slot) * units.Time(slot)
}

// departures records when requests leave a.
func (p *pair) departures() *[]units.Time {
	at := &[]units.Time{}
	p.la.tamper = func(frame []byte) int {
		var pkt wire.Packet
		if pkt.Parse(frame) == nil && pkt.Op.Info().Request {
			*at = append(*at, p.now)
		}
		return 1
	}
	return at
}

func (s *side) write(t testing.TB, to *side, n int) {
	t.Helper()
	s.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{s.mr.SGE(0, n)},
		RemoteAddr: to.mr.Addr, RKey: to.mr.RKey})
}

// A paced packet leaves at its slot, and Poll announces it: in virtual time nothing else would wake
// the endpoint.
func TestPacedPacketsLeaveAtTheirSlots(t *testing.T) {
	const rate = 25 * units.Gbps // 327.68 ns a packet
	p := newPair(t)
	o := defaults()
	o.algorithm = &cc.Fixed{Window: units.MiB, Rate: rate}
	a, b := p.connected(o)
	a.write(t, b, 8)
	p.await(a, 1)
	p.settle(units.Millisecond)

	left := p.departures()
	start := p.now
	a.write(t, b, 20*1024)
	for k := range 20 {
		want := slotOf(start.Add(units.Duration(k)*rate.Duration(1024)), pace.PacketSlot)
		if p.now != want {
			require.Equal(t, want, p.a.Poll(p.now), "packet %d", k)
			p.now = want
		}
		p.a.Poll(p.now)
		if k == 0 && len(*left) == 0 { // it joined the limiter after this round's packets
			p.a.Poll(p.now)
		}
		require.Len(t, *left, k+1)
	}
	p.await(a, 1)
}

// With a window smaller than a packet one packet at a time leaves, at times given by the rate.
func TestWindowBelowAPacketIsSpacedByRate(t *testing.T) {
	for _, c := range []struct {
		rate units.BitRate
		gap  units.Duration // between packets: that of the rate, or the round trip if it is longer
	}{
		{100 * units.Mbps, (100 * units.Mbps).Duration(1024)},
		{100 * units.Gbps, 2 * units.Microsecond},
	} {
		p := newPair(t)
		o := defaults()
		o.algorithm = &cc.Fixed{Window: 100, Rate: c.rate}
		a, b := p.connected(o)
		p.settle(units.Millisecond)
		left := p.departures()
		a.write(t, b, 10*1024)
		p.await(a, 1)
		require.Len(t, *left, 10)
		for i, at := range *left {
			if i > 0 {
				require.InDelta(t, c.gap.Nanoseconds(), at.Sub((*left)[i-1]).Nanoseconds(),
					float64(pace.Slot/units.Nanosecond), "%v: packet %d", c.rate, i)
			}
		}
		p.conserved()
	}
}

// The responses of a READ leave the responder as fast as its port allows: a paced flow requests few
// at a time, but enough that the requests that may be outstanding fill the window.
func TestPacedReadRequestsInPieces(t *testing.T) {
	for _, c := range []struct {
		rate   units.BitRate
		window units.Bytes
		reads  int
		piece  units.Bytes // asked for at a time
	}{
		{units.Gbps, 16 * units.KiB, 16, 1024},                 // a packet takes 8 µs
		{20 * units.Gbps, 64 * units.KiB, 16, 24 * units.KiB},  // 25 kB take 10 µs
		{units.Gbps, 16 * units.KiB, 2, 8 * units.KiB},         // half of the window
		{units.Gbps, 16 * units.KiB, 1, 16 * units.KiB},        // all of it
		{400 * units.Gbps, 16 * units.KiB, 16, 16 * units.KiB}, // no more than the window
		{0, 32 * units.KiB, 16, 32 * units.KiB},                // not paced
	} {
		p := newPair(t)
		o := defaults()
		o.reads, o.memory = c.reads, 1<<20
		o.algorithm = &cc.Fixed{Window: c.window, Rate: c.rate}
		a, b := p.connected(o)
		fill(b.mem, 9)
		var requested []units.Bytes
		p.la.tamper = func(frame []byte) int {
			var pkt wire.Packet
			if pkt.Parse(frame) == nil && pkt.Op == wire.RCReadRequest {
				requested = append(requested, units.Bytes(pkt.RETH().Len.Get()))
			}
			return 1
		}
		p.settle(units.Millisecond)
		start := p.now
		const size = 256 * units.KiB
		a.post(t, WorkRequest{Op: OpRead, Signaled: true, SGList: []SGE{a.mr.SGE(0, int(size))},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		p.await(a, 1)
		require.Equal(t, b.mem[:size], a.mem[:size])
		require.Equal(t, c.piece, requested[0], "%+v", c)
		require.LessOrEqual(t, slices.Max(requested), c.piece, "%+v", c)
		if c.rate > 0 {
			require.GreaterOrEqual(t, p.now.Sub(start), c.rate.Duration(size-c.piece), "%+v", c)
		}
		if c.rate == units.Gbps {
			require.InEpsilon(t, c.rate.Duration(size-c.piece).Microseconds(),
				p.now.Sub(start).Microseconds(), 0.02, "%+v", c)
		}
		p.conserved()
	}
}

// rateStep is an algorithm whose flow first waits for long, and then not at all.
type rateStep struct {
	at        units.Time
	low, high units.BitRate
}

func (*rateStep) Events() cc.EventSet { return cc.Events(cc.TIMER) }
func (r *rateStep) Start(units.Time) cc.Decision {
	return cc.Decision{Window: units.MiB, Rate: r.low, WakeAt: r.at}
}
func (r *rateStep) On(*cc.Event, units.Time) cc.Decision {
	return cc.Decision{Window: units.MiB, Rate: r.high}
}

// The waiting packet is re-timed when the rate changes: it leaves when it would have left had the
// previous packet left at the new rate, or at once if that has passed, or if there is no rate any
// more.
func TestWaitingPacketIsRetimed(t *testing.T) {
	const low, at = 10 * units.Kbps, units.Time(5 * units.Millisecond) // 819.2 ms a packet
	for _, c := range []struct {
		high units.BitRate
		next units.Duration // after the first packet; 0: when the rate rises
	}{
		{units.Mbps, units.Mbps.Duration(1024)}, {units.Gbps, 0}, {0, 0},
	} {
		p := newPair(t)
		o := defaults()
		o.timeout = 0
		o.algorithm = &rateStep{at: at, low: low, high: c.high}
		a, b := p.connected(o)
		p.run(units.Microsecond, func() bool { return false })
		left := p.departures()
		a.write(t, b, 2*1024)
		p.await(a, 1)
		require.Len(t, *left, 2)
		want := at
		if c.next > 0 {
			want = (*left)[0].Add(c.next)
		}
		require.InDelta(t, units.Duration(want).Nanoseconds(),
			units.Duration((*left)[1]).Nanoseconds(),
			float64(pace.PacketSlot/units.Nanosecond), "%v", c.high)
	}
}

// Poll returns the deadline of the timer that runs, and not of one that has been moved or stopped.
func TestPollReturnsTheRunningTimersDeadline(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.timeout = 10 // 4.2 ms
	a, b := p.connected(o)
	a.write(t, b, 8)
	p.await(a, 1)
	idle := p.a.Poll(p.now)
	require.Greater(t, idle.Sub(p.now), units.Second, "nothing is outstanding")

	p.la.tamper = func([]byte) int { return 0 }
	first := p.now
	a.write(t, b, 8)
	require.Equal(t, slotOf(first.Add(wire.AckTimeout(10)), pace.Slot), p.a.Poll(p.now))
	p.la.tamper = nil
	p.now = p.now.Add(units.Millisecond)
	a.write(t, b, 8)
	require.Equal(t, slotOf(first.Add(wire.AckTimeout(10)), pace.Slot), p.a.Poll(p.now),
		"the oldest packet's")
	p.await(a, 2)
	require.Equal(t, idle, p.a.Poll(p.now))
}

func TestPacingAllocatesNothing(t *testing.T) {
	for _, op := range []Op{OpWrite, OpRead} {
		o := defaults()
		o.algorithm = &cc.Fixed{Window: units.MiB, Rate: 400 * units.Gbps}
		p, as, bs := crossedPair(t, o, 1)
		s := newStream(p, as[0], bs[0], op, 10000)
		s.burst(packet.Burst)
		require.Zero(t, testing.AllocsPerRun(20, func() { s.burst(packet.Burst) }), op.String())
	}
}

// line is a link that takes time to send a frame, and accepts one frame beyond the one it is
// sending.
type line struct {
	*link
	rate  units.BitRate // 0: it takes no time
	free  units.Time    // when it is done with what it has
	room  units.Time    // when it takes one more
	short bool          // the endpoint waits for room
	idle  [][2]units.Time
	sent  func(i int, at units.Time)
	busy  []int // queue pairs that have more to send
}

func (l *line) Info() packet.Info {
	i := l.link.Info()
	i.TxDepth = 1
	return i
}

func (l *line) Send(class packet.Class, bufs []packet.Buf) int {
	for i := range bufs {
		if l.room.After(*l.now) {
			l.short = true
			return i
		}
		at := *l.now
		if l.free.After(at) {
			at = l.free
		} else if l.free.Before(at) {
			l.idle = append(l.idle, [2]units.Time{l.free, at})
		}
		if l.rate > 0 {
			l.room, l.free = at, at.Add(l.rate.Duration(units.Bytes(bufs[i].Len()+24)))
		}
		if frame := bufs[i].Data(); frame[12] == 0x08 && frame[13] == 0 { // IPv4
			who := int(wire.QPN(wire.View[wire.BTH](frame[14+20+8:]).DestQP.Get()) - firstPeer)
			l.sent(who, at)
			l.busy = append(l.busy, who)
			l.Free(bufs[i : i+1])
			continue
		}
		l.link.Send(class, bufs[i:i+1])
	}
	return len(bufs)
}

// unused returns for how long the line had nothing to send between two times.
func (l *line) unused(from, to units.Time) (d units.Duration) {
	for i := len(l.idle) - 1; i >= 0 && l.idle[i][1].After(from); i-- {
		begin, end := l.idle[i][0], l.idle[i][1]
		if begin.Before(from) {
			begin = from
		}
		d += units.Earlier(end, to).Sub(begin)
	}
	return d
}

// firstPeer is the peer's number of the first of pacedFlows; the second has the next one.
const firstPeer wire.QPN = 1000

// pacedFlows is an endpoint with UC queue pairs of the given rates that always have something to
// send once the line lists them as busy. Nobody receives it.
func pacedFlows(t testing.TB, l *line, now units.Time, rates []units.BitRate) (_ *Endpoint,
	qps []*QueuePair) {
	t.Helper()
	e, err := New(Config{Port: l, Addrs: prefixes("10.0.0.1/24"), Seed: 1}, now)
	require.NoError(t, err)
	pd := e.AllocPD()
	cq, err := e.CreateCQ(4 * len(rates))
	require.NoError(t, err)
	mr, err := e.RegisterMemory(pd, make([]byte, 1<<20), LocalWrite)
	require.NoError(t, err)
	wr := WorkRequest{Op: OpWrite, SGList: []SGE{mr.SGE(0, 1<<20)}}
	e.Loop().OnRound(func(units.Time) {
		for _, i := range l.busy {
			for qp := qps[i]; qp.SendRoom() > 0; {
				require.NoError(t, qp.PostSend(&wr))
			}
		}
		l.busy = l.busy[:0]
	})
	for i, rate := range rates {
		qp, err := e.CreateQP(QPInit{Type: UC, PD: pd, SendCQ: cq, RecvCQ: cq, MaxSendWR: 4,
			Algorithm: &cc.Fixed{Window: units.MiB, Rate: rate}})
		require.NoError(t, err)
		require.NoError(t,
			qp.Connect(QPAttr{Path: AddressVector{IP: netip.MustParseAddr("10.0.0.2")},
				PathMTU: units.KiB, DestQPN: firstPeer + wire.QPN(i)}))
		qps = append(qps, qp)
	}
	return e, qps
}

// randomRates draws n rates with the given sum, log-uniformly from 100 kb/s on.
func randomRates(r *rand.Rand, n int, sum units.BitRate) []units.BitRate {
	parts, all := make([]float64, n), 0.
	for i := range parts {
		parts[i] = min(1/(1-r.Float64()), 4e6)
		all += parts[i]
	}
	rates := make([]units.BitRate, n)
	for i := range rates {
		rates[i] = units.BitRate(parts[i] / all * float64(sum))
	}
	return rates
}

// busyLine is an endpoint on a line of 100 Gb/s with UC queue pairs of the given rates that have
// something to send from now on.
func busyLine(t *testing.T, now *units.Time, rates []units.BitRate) (*line, *Endpoint,
	[]*QueuePair) {
	la, lb := newLink("a", 1, now), newLink("b", 2, now)
	la.peer, lb.peer = lb, la
	l := &line{link: la, rate: 100 * units.Gbps, sent: func(int, units.Time) {}}
	a, qps := pacedFlows(t, l, 0, rates)
	b, err := New(Config{Port: lb, Addrs: prefixes("10.0.0.2/24"), Seed: 2}, 0)
	require.NoError(t, err)
	from := units.Time(100 * units.Microsecond) // until then addresses are resolved
	for l.busy = []int{0}; now.Before(from); *now = now.Add(units.Microsecond) {
		a.Poll(*now)
		b.Poll(*now)
	}
	l.idle, l.free = nil, from
	for i := range qps[1:] {
		l.busy = append(l.busy, i+1)
	}
	return l, a, qps
}

// run polls the endpoint of a line when it is due, and when there is room again.
func (l *line) run(e *Endpoint, end units.Time) {
	for l.now.Before(end) {
		l.short = false
		next := e.Poll(*l.now)
		if l.short {
			next = units.Earlier(next, l.room)
		}
		if next.After(*l.now) {
			*l.now = next
		}
	}
}

// Paced flows do not starve others on a port that is always full, nor the reverse.
func TestPacedAndOthersShareAPort(t *testing.T) {
	for _, rate := range []units.BitRate{40 * units.Gbps, 90 * units.Gbps, 400 * units.Gbps} {
		t.Run(rate.String(), func(t *testing.T) {
			now := units.Time(0)
			l, a, _ := busyLine(t, &now, []units.BitRate{rate, 0})
			packets := [2]int{}
			l.sent = func(i int, _ units.Time) { packets[i]++ }
			l.run(a, now.Add(units.Millisecond))
			all := packets[0] + packets[1]
			require.Greater(t, all, 10_000, "the port is full")
			// its rate, or a half
			want := min(float64(rate.Bytes(units.Millisecond)/1024), float64(all)/2)
			require.InEpsilon(t, want, packets[0], 0.02)
		})
	}
}

// TestTenThousandPacedQueuePairs: with ten thousand paced queue pairs on one endpoint, a packet
// leaves a slot after its start only if the port was busy; and each queue pair gets its rate.
func TestTenThousandPacedQueuePairs(t *testing.T) {
	n, span := 10_000, 10*units.Millisecond
	if race.Short() {
		n, span = 1000, 3*units.Millisecond
	}
	seed := testSeed(t)
	rates := randomRates(rand.New(rand.NewPCG(seed, 0)), n, 85*units.Gbps)
	now := units.Time(0)
	l, a, qps := busyLine(t, &now, rates)
	from := now
	sent, packets := make([]units.Bytes, n), 0
	first := make([]units.Time, n)
	l.sent = func(i int, at units.Time) {
		start := a.limiter.Started(uint32(qps[i].cong.flow))
		if d := l.unused(start, at); d >= pace.PacketSlot {
			t.Fatalf("%v: a packet with start %v left at %v; the port was idle for %v between",
				rates[i], start, at, d)
		}
		if first[i] == 0 {
			first[i] = start
		} else {
			sent[i] += 1024
		}
		packets++
	}
	l.run(a, from.Add(span))
	t.Logf("%d packets", packets)
	require.Greater(t, packets, int((80*units.Gbps).Bytes(span)/1024))
	for i, rate := range rates {
		if first[i] == 0 {
			continue // it has no packet in this time
		}
		want := float64(rate.Bytes(from.Add(span).Sub(first[i])))
		require.InDelta(t, want, float64(sent[i]), 0.005*want+1024, "%v", rate)
	}
}

// BenchmarkPacedQueuePairs measures paced queue pairs on the real clock: how long after its start a
// packet goes to a port that always has room. An endpoint polled by a core of its own is polled
// about every microsecond; the sum of the rates is below what the core can send.
func BenchmarkPacedQueuePairs(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			epoch := time.Now()
			var now units.Time
			tell := func() units.Time {
				now = units.Time(units.FromStd(time.Since(epoch)))
				return now
			}
			la, lb := newLink("a", 1, &now), newLink("b", 2, &now)
			la.peer, lb.peer = lb, la
			resolved := false
			l := &line{link: la, sent: func(int, units.Time) { resolved = true }}
			e, qps := pacedFlows(b, l, tell(), randomRates(rand.New(rand.NewPCG(1, 2)), n,
				8*units.Gbps))
			peer, err := New(Config{Port: lb, Addrs: prefixes("10.0.0.2/24"), Seed: 2}, now)
			require.NoError(b, err)
			l.busy = []int{0}
			for tell(); !resolved; tell() {
				e.Poll(now)
				peer.Poll(now)
			}
			for i := range qps[1:] {
				l.busy = append(l.busy, i+1)
			}
			// a packet of each
			for end := tell().Add(20 * units.Millisecond); now.Before(end); tell() {
				e.Poll(now)
			}
			late := make([]units.Duration, 0, b.N+packet.Burst)
			l.sent = func(i int, at units.Time) {
				late = append(late, at.Sub(e.limiter.Started(uint32(qps[i].cong.flow))))
			}
			b.ResetTimer()
			for len(late) < b.N {
				e.Poll(tell())
				l.idle = l.idle[:0]
			}
			b.StopTimer()
			slices.Sort(late)
			at := func(q float64) float64 { return late[int(q*float64(len(late)-1))].Nanoseconds() }
			b.ReportMetric(at(0.5), "p50-ns-late")
			b.ReportMetric(at(0.99), "p99-ns-late")
			b.ReportMetric(at(0.999), "p99.9-ns-late")
			b.ReportMetric(at(1), "max-ns-late")
		})
	}
}

// A packet that waits to be retransmitted, since a timeout made its flow slow, costs no retry while
// it waits.
func TestWaitingForThePaceIsNoTimeout(t *testing.T) {
	for _, features := range []wire.Features{0, wire.FeatureSACK} {
		o := defaults()
		o.features, o.retries = features, 2
		p, a, b, s := steeredPair(t, o)
		s.decision.Rate = units.Gbps
		s.steer(s.decision)
		s.on = func(ev *cc.Event, _ units.Time) {
			if ev.Kind == cc.RTO {
				// a packet of 1024 bytes takes a millisecond, 15 timeouts
				s.decision.Rate = 8 * units.Mbps
			}
		}
		p.la.tamper = func([]byte) int { return 0 }
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 5000)}})
		p.settle(wire.AckTimeout(o.timeout) + 20*units.Microsecond)
		require.NotZero(t, a.qp.Stats().Timeouts)
		p.la.tamper = nil
		p.settle(20 * units.Millisecond)
		require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status, "%v", features)
		require.LessOrEqual(t, a.qp.Stats().Timeouts, uint64(2))
	}
}

// What a paced queue pair missed while its endpoint was not polled does not leave as a burst; the
// rest of a round does.
func TestNoBurstAfterAStall(t *testing.T) {
	for _, c := range []struct {
		away        units.Duration
		least, most int // packets of 819 ns that leave at once
	}{{100 * us, 32, 130}, {10 * units.Millisecond, 0, 2}} {
		p := newPair(t)
		o := defaults()
		o.memory, o.timeout = 1<<20, 20
		o.algorithm = &cc.Fixed{Window: units.MiB, Rate: 10 * units.Gbps}
		a, b := p.connected(o)
		p.settle(10 * us)
		left := p.departures()
		a.write(t, b, 1<<20)
		p.settle(50 * us)
		before := len(*left)
		require.InDelta(t, 61, before, 2)
		p.now = p.now.Add(c.away)
		for range 4 { // rounds in no time
			p.a.Poll(p.now)
		}
		require.GreaterOrEqual(t, len(*left)-before, c.least, "%v", c.away)
		require.LessOrEqual(t, len(*left)-before, c.most, "%v", c.away)
		p.await(a, 1)
	}
}

// departures is an algorithm that records how many packets each TX event reports.
type departures struct {
	cc.Fixed
	packets []int
	bytes   units.Bytes
}

func (*departures) Events() cc.EventSet { return cc.Events(cc.TX) }

func (d *departures) On(ev *cc.Event, _ units.Time) cc.Decision {
	d.packets = append(d.packets, ev.Packets)
	d.bytes += ev.Bytes
	return d.Start(0)
}

// The packets that an unpaced flow sends in a turn are one TX event; a paced flow's are one each.
func TestSentBatch(t *testing.T) {
	for _, c := range []struct {
		rate units.BitRate
		want []int
	}{
		{0, []int{8}},
		{100 * units.Gbps, []int{1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		p := newPair(t)
		o := defaults()
		d := &departures{Fixed: cc.Fixed{Window: units.MiB, Rate: c.rate}}
		o.algorithm = d
		a, b := p.connected(o)
		p.settle(units.Millisecond)
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8*1024)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		p.await(a, 1)
		require.Equal(t, c.want, d.packets, "%v", c.rate)
		require.EqualValues(t, 8*1024, d.bytes)
	}
}
