package tocc

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// loop is a flow whose tokens and data meet no delay, to measure the cost of a token.
type loop struct {
	cc.Inline
	gate    cc.Gate
	granter cc.Granter
	flow    cc.Flow
	now     units.Time
	out     cc.Outgoing
	in      cc.Arrival
	n       cc.ControlMessage
}

func newLoop(t testing.TB, text string) *loop {
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 5 * us, Payload: 4096}
	gate, granter, err := parse(t, text).New(path)
	require.NoError(t, err)
	l := &loop{gate: gate, granter: granter, now: 1}
	granter.Attach(l)
	if a := granter.Algorithm(); a != nil {
		l.flow = l.Add(a, 0)
	}
	l.out = cc.Outgoing{Bytes: 4096, Message: 4096,
		Backlog: cc.Backlog{Waits: units.GiB, InFlight: 4096}}
	gate.Posted(units.GiB, l.out.Backlog, l.now)
	n, ok := gate.Emit(l.out.Backlog, l.now)
	require.True(t, ok)
	require.NoError(t, granter.Receive(&n, l.now))
	return l
}

func (l *loop) Report(ev *cc.Event, now units.Time) {
	ev.Flow = l.flow
	l.Inline.Report(ev, now)
	if d, ok := l.Decision(l.flow); ok {
		l.granter.Apply(d, now)
	}
}

func (*loop) Reschedule() {}

// token performs a receiver's work for a token: the TOKEN is sent, and the data arrives.
func (l *loop) token() bool {
	l.now += 400_000
	n, ok := l.granter.Emit(false, l.now)
	if ok {
		l.n = n
		l.in.Bytes, l.in.Set = 4096, cc.MarkWantsMore
		l.granter.Arrived(&l.in, l.now)
	}
	return ok
}

// packet performs a sender's work for a token: the TOKEN arrives, and a packet is sent.
func (l *loop) packet(step uint32) bool {
	l.now += 400_000
	l.n = cc.ControlMessage{Kind: cc.TOKEN, Limit: l.n.Limit + step, Seq: l.n.Seq + 1}
	if l.gate.Receive(&l.n, l.out.Backlog, l.now) != nil || !l.gate.Ready(&l.out, l.now) {
		return false
	}
	l.gate.Sent(&l.out, l.now)
	return true
}

func TestNoTokenAllocates(t *testing.T) {
	for _, text := range []string{"unsch=0,cc=none", "unsch=0,cc=dcqcn", "unsch=0,cc=swift",
		"homa:unsch=0", "ndp:unsch=0"} {
		r, s := newLoop(t, text), newLoop(t, text)
		n := 0
		assert.Zero(t, testing.AllocsPerRun(1000, func() {
			if r.token() && s.packet(4096) {
				n++
			}
		}), text)
		assert.Equal(t, 1001, n, text)
	}
}

// idleGate and idleGranter do nothing. They measure the cost of the benchmark itself.
type idleGate struct{ cc.Gate }

func (*idleGate) Receive(*cc.ControlMessage, cc.Backlog, units.Time) error { return nil }
func (*idleGate) Ready(*cc.Outgoing, units.Time) bool                      { return true }
func (*idleGate) Sent(*cc.Outgoing, units.Time) cc.Marks                   { return cc.Marks{} }

type idleGranter struct{ cc.Granter }

func (*idleGranter) Arrived(*cc.Arrival, units.Time) {}
func (*idleGranter) Emit(bool, units.Time) (cc.ControlMessage, bool) {
	return cc.ControlMessage{Kind: cc.TOKEN, Releases: 4178}, true
}

// least reports the shortest time of all batches, the one in which nothing else used the core. It
// also reports by how much that exceeds the shortest of bare, whose batches alternate with those of
// one and have nothing behind the interfaces.
func least(b *testing.B, one, bare func() bool) {
	const batch = 1000
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for b.Loop() {
		for i, f := range []func() bool{one, bare} {
			begun := time.Now()
			for range batch {
				if !f() {
					b.Fatal("no token")
				}
			}
			best[i] = min(best[i], time.Since(begun))
		}
	}
	b.ReportMetric(float64(best[0].Nanoseconds())/batch, "ns/token")
	b.ReportMetric(float64((best[0]-best[1]).Nanoseconds())/batch, "ns/over")
}

// bare returns a loop around nothing.
func bare() *loop {
	return &loop{gate: &idleGate{}, granter: &idleGranter{}, now: 1, out: cc.Outgoing{Bytes: 4096}}
}

// BenchmarkReceiver measures sending a TOKEN and receiving its data.
func BenchmarkReceiver(b *testing.B) {
	for _, text := range []string{"unsch=0,cc=none", "unsch=0,cc=dcqcn", "unsch=0,cc=swift",
		"homa:unsch=0"} {
		b.Run(text, func(b *testing.B) { least(b, newLoop(b, text).token, bare().token) })
	}
}

// BenchmarkSender measures receiving a TOKEN and sending a packet.
func BenchmarkSender(b *testing.B) {
	l := newLoop(b, "unsch=0,cc=none")
	idle := bare()
	least(b, func() bool { return l.packet(4096) }, func() bool { return idle.packet(4096) })
}

// BenchmarkManyFlows measures both, for 10 000 flows in turn.
func BenchmarkManyFlows(b *testing.B) {
	flows := make([]*loop, 10_000)
	for i := range flows {
		flows[i] = newLoop(b, "unsch=0,cc=dcqcn")
	}
	i, idle := 0, bare()
	least(b, func() bool {
		l := flows[i%len(flows)]
		i++
		return l.token() && l.packet(4096)
	}, func() bool { return idle.token() && idle.packet(4096) })
}
