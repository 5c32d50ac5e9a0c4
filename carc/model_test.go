package carc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/cc/cctest"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

// model simulates senders and one receiver, message by message. Data is delivered in order and
// exactly once, as by a transport; CREDITs are lost, duplicated and reordered.
type model struct {
	t   testing.TB
	rng *rand.Rand
	cctest.EventQueue
	ep    *Endpoint
	links []*link
	loss  float64
}

// link is one direction of a connection.
type link struct {
	*model
	gate    *Gate
	granter *Granter
	gone    bool

	waits   []units.Bytes // messages that are posted
	first   int           // of waits, the next that leaves
	free    units.Time    // when the last message that left will have been delivered
	held    []units.Bytes
	works   bool
	service units.Duration // of the program with a line

	senderAt, receiverAt units.Time // when the next poll of the sender and of the receiver is due

	// Expected state.
	out     []outstanding
	inForce []creditsInForce
	spent   struct{ messages, consumed int }
}

// outstanding is a message that was posted and not returned.
type outstanding struct {
	upTo  Lines
	at    units.Time
	large bool
	lines Lines
}

// creditsInForce is the number of credits in force from a time on.
type creditsInForce struct {
	from    units.Time
	credits Lines
}

func newModel(t testing.TB, text string, seed uint64) *model {
	spec, err := Parse(text)
	require.NoError(t, err)
	return &model{t: t, rng: rand.New(rand.NewPCG(seed, 9)), ep: spec.Endpoint(),
		EventQueue: cctest.EventQueue{Now: 1}}
}

func (m *model) after(d units.Duration, do func()) { m.At(m.Now.Add(d), do) }

func (m *model) some(most units.Duration) units.Duration {
	return units.Duration(m.rng.Int64N(int64(most) + 1))
}

// connect adds a connection.
func (m *model) connect(share Share) *link {
	l := &link{model: m, service: m.some(200 * units.Nanosecond)}
	var err error
	l.gate, l.granter, err = m.ep.NewShare(path, share)
	require.NoError(m.t, err)
	l.granter.Attach(l)
	if m.rng.IntN(2) == 0 { // otherwise the first CREDIT sets the credits
		terms := l.granter.Terms()
		l.granter.Agree(terms)
		l.gate.Agree(terms)
	}
	l.inForce = []creditsInForce{{m.Now, l.gate.Credits()}}
	m.links = append(m.links, l)
	l.pollReceiver()
	return l
}

// close ends a connection, with everything outstanding.
func (l *link) close() {
	l.gone = true
	l.granter.Attach(nil)
	for i, other := range l.links {
		if other == l {
			l.links = append(l.links[:i], l.links[i+1:]...)
		}
	}
}

// Report implements cc.Reporter.
func (*link) Report(*cc.Event, units.Time) {}

// Reschedule implements cc.Reporter.
func (l *link) Reschedule() { l.At(l.Now, l.pollReceiver) }

func (l *link) backlog() (b cc.Backlog) {
	for _, bytes := range l.waits[l.first:] {
		b.Waits += bytes
	}
	return b
}

// post puts a message into the send queue.
func (l *link) post(bytes units.Bytes) {
	l.waits = append(l.waits, bytes)
	l.gate.Posted(bytes, l.backlog(), l.Now)
	l.pollSender()
}

// pollSender polls the sender.
func (l *link) pollSender() {
	if l.gone {
		return
	}
	for at := l.gate.Next(); at != 0 && !at.After(l.Now); at = l.gate.Next() {
		if n, some := l.gate.Emit(l.backlog(), l.Now); some {
			l.carry(func() {
				require.NoError(l.t, l.granter.Receive(&n, l.Now))
				l.pollReceiver()
			})
		}
	}
	for l.first < len(l.waits) {
		bytes := l.waits[l.first]
		p := cc.Outgoing{Bytes: min(bytes, path.Payload), Message: bytes, Completes: true,
			Backlog: l.backlog()}
		if !l.gate.Ready(&p, l.Now) {
			break
		}
		large := l.gate.shift.lines(bytes) > l.gate.Credits()
		l.gate.Sent(&p, l.Now)
		if l.rng.IntN(8) == 0 { // a retransmission takes no credits
			p.Again = true
			l.gate.Sent(&p, l.Now)
		}
		l.first++
		l.spent.messages++
		if n := l.gate.shift.lines(bytes); n > 0 {
			l.out = append(l.out, outstanding{l.gate.posted, l.Now, large, n})
		}
		l.check()
		l.free = max(l.free, l.Now.Add(path.BaseRTT/2+l.some(2*path.BaseRTT)))
		l.At(l.free, func() { l.deliver(bytes) })
	}
	if at := l.gate.Next(); at != 0 && (at.Before(l.senderAt) || !l.senderAt.After(l.Now)) {
		l.senderAt = at
		l.At(at, l.pollSender)
	}
	l.check()
}

// deliver delivers a message to the receiver.
func (l *link) deliver(bytes units.Bytes) {
	if l.gone {
		return
	}
	l.granter.Delivered(bytes, l.Now)
	l.held = append(l.held, bytes)
	if l.rng.IntN(2) == 0 {
		l.emit() // with an acknowledgement
	}
	l.pollReceiver()
	if !l.works {
		l.works = true
		l.work()
	}
}

// work is the program, which processes the oldest message.
func (l *link) work() {
	bytes := l.held[0]
	took := units.Duration(l.granter.shift.lines(bytes)+1) * l.service
	if l.rng.IntN(50) == 0 {
		took += 300 * us
	}
	l.after(took, func() {
		if l.gone {
			return
		}
		l.held = l.held[1:]
		l.granter.Consumed(bytes, l.Now)
		l.spent.consumed++
		l.pollReceiver()
		if l.gate.responses {
			l.after(path.BaseRTT/2, func() {
				if !l.gone {
					l.gate.Answered(bytes, l.Now)
					l.returned()
					l.pollSender()
				}
			})
		}
		if l.works = len(l.held) > 0; l.works {
			l.work()
		}
	})
}

// pollReceiver polls the receiver.
func (l *link) pollReceiver() {
	if l.gone {
		return
	}
	at := l.granter.Next()
	for ; at != 0 && !at.After(l.Now); at = l.granter.Next() {
		l.emit()
	}
	if at != 0 && (at.Before(l.receiverAt) || !l.receiverAt.After(l.Now)) {
		l.receiverAt = at
		l.At(at, l.pollReceiver)
	}
	l.check()
}

func (l *link) emit() {
	if n, some := l.granter.Emit(false, l.Now); some {
		l.carry(func() {
			require.NoError(l.t, l.gate.Receive(&n, l.backlog(), l.Now))
			l.returned()
			l.pollSender()
		})
	}
}

// carry carries a control message to the other end: once, twice or not at all.
func (l *link) carry(heard func()) {
	for copies := 1 + l.rng.IntN(10)/9; copies > 0; copies-- {
		if l.rng.Float64() < l.loss {
			continue
		}
		l.after(path.BaseRTT/2+l.some(path.BaseRTT), func() {
			if !l.gone {
				heard()
			}
		})
	}
}

// returned removes the messages that the sender knows to be returned.
func (l *link) returned() {
	for len(l.out) > 0 && l.out[0].upTo <= l.gate.returned+l.gate.returnedByResponse {
		l.out = l.out[1:]
	}
	if now := l.gate.Credits(); now != l.inForce[len(l.inForce)-1].credits {
		l.inForce = append(l.inForce, creditsInForce{l.Now, now})
	}
}

// check checks the invariants of this connection and of the pool.
func (l *link) check() {
	if l.gone {
		return
	}
	most := l.gate.Credits()
	if len(l.out) > 0 {
		for len(l.inForce) > 1 && !l.inForce[1].from.After(l.out[0].at) {
			l.inForce = l.inForce[1:]
		}
		for _, f := range l.inForce {
			most = max(most, f.credits)
		}
	}
	larges := Lines(0)
	for i, o := range l.out {
		if o.large {
			require.Zero(l.t, i,
				"a message larger than all credits left while another was outstanding")
			larges = o.lines
		}
	}
	out := l.gate.Outstanding()
	require.LessOrEqual(l.t, out, most+larges, "posted %d, returned %d, answered %d", l.gate.posted,
		l.gate.returned, l.gate.returnedByResponse)
	require.True(l.t, out >= 0)
	held := Lines(0)
	for _, bytes := range l.held {
		held += l.granter.shift.lines(bytes)
	}
	require.LessOrEqual(l.t, held, out, "more is unconsumed than outstanding")

	p, shares, least := l.granter.pool, units.Bytes(0), units.Bytes(0)
	for _, m := range l.links {
		if shares += m.granter.share; m.granter.share == path.Payload {
			least += path.Payload // the minimum of each connection, whatever the cache
		}
	}
	require.Equal(l.t, shares, p.announced)
	require.LessOrEqual(l.t, shares, p.cache+least, "%d connections", len(l.links))
}

// settings draws the parameters of a run.
func settings(rng *rand.Rand) string {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	text := "llc=" + pick("4KiB", "16KiB", "64KiB", "1MiB")
	text += ",mode=" + pick("oneway", "rr") + ",delta=" + pick("auto", "auto", "off", "40", "-40")
	return text + ",share=" + pick("all", "all", "active") + ",gather=" + pick("0s", "10us", "50us")
}

// TestModel checks that, whatever is lost, duplicated and late and whatever connections open and
// close, the outstanding lines stay within the credits, and no credits are lost for good.
func TestModel(t *testing.T) {
	seeds := uint64(2000)
	if race.Short() {
		seeds = 200
	}
	for seed := range seeds {
		run(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func run(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	text := settings(rng)
	defer func() {
		if t.Failed() {
			fmt.Printf("seed %d: %s\n", seed, text)
		}
	}()
	m := newModel(t, text, seed)
	m.loss = []float64{0, 0.01, 0.2, 0.5}[rng.IntN(4)]
	connect := func() *link {
		return m.connect(Share{Weight: 1 + rng.IntN(3)*rng.IntN(2),
			Priority: rng.IntN(3) * rng.IntN(2)})
	}
	for range 1 + rng.IntN(5) {
		connect()
	}
	for range rng.IntN(4) { // close some connections, and open others
		m.after(m.some(units.Millisecond), func() {
			if rng.IntN(2) == 0 && len(m.links) > 1 {
				m.links[rng.IntN(len(m.links))].close()
			}
			connect()
		})
	}
	size := units.Bytes(1) << (6 + rng.IntN(10))
	for range 20 + rng.IntN(60) {
		m.after(m.some(units.Millisecond), func() {
			m.links[rng.IntN(len(m.links))].post(units.Bytes(rng.Int64N(int64(size))))
		})
	}
	m.Run(m.Now.Add(300 * units.Millisecond))
	for _, l := range m.links { // a message that takes all credits leaves
		require.Equal(t, len(l.waits), l.first, "messages still wait")
		require.Equal(t, l.spent.messages, l.spent.consumed)
		l.post(units.Bytes(l.gate.Credits()) * 64)
	}
	m.Run(m.Now.Add(100 * units.Millisecond))
	for _, l := range m.links {
		require.Equal(t, len(l.waits), l.first, "credits were lost: %d of %d are outstanding",
			l.gate.Outstanding(), l.gate.Credits())
		require.Equal(t, l.spent.messages, l.spent.consumed)
		require.Zero(t, l.granter.Unconsumed())
	}
	require.Zero(t, m.ep.sensor.unconsumed)
}
