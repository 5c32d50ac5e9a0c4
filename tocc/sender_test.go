package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// desk is a sender together with what a transport would know.
type desk struct {
	testing.TB
	gate     cc.Gate
	now      units.Time
	waits    units.Bytes
	inFlight units.Bytes
}

const pkt = 1456 // payload of the paper's packets

func newDesk(t testing.TB, text string) *desk {
	gate, _, err := parse(t, text).New(paper)
	require.NoError(t, err)
	return &desk{TB: t, gate: gate, now: units.Time(units.Millisecond)}
}

func (d *desk) backlog() cc.Backlog { return cc.Backlog{Waits: d.waits, InFlight: d.inFlight} }

func (d *desk) post(packets int) {
	d.waits += units.Bytes(packets) * pkt
	d.gate.Posted(units.Bytes(packets)*pkt, d.backlog(), d.now)
}

// take sends packets until the gate refuses one.
func (d *desk) take() (marks []cc.Marks) {
	for d.waits > 0 {
		out := cc.Outgoing{Bytes: pkt, Message: d.waits, Backlog: d.backlog()}
		if !d.gate.Ready(&out, d.now) {
			break
		}
		marks = append(marks, d.gate.Sent(&out, d.now))
		d.waits -= pkt
		d.inFlight += pkt
	}
	return marks
}

// token delivers a TOKEN with a limit of so many packets.
func (d *desk) token(limit int, flags cc.ControlFlags, ce bool) {
	n := cc.ControlMessage{Kind: cc.TOKEN, Flags: flags, Limit: uint32(limit * pkt), Congested: ce}
	require.NoError(d, d.gate.Receive(&n, d.backlog(), d.now))
}

// rts returns the RTS that is due, if one is.
func (d *desk) rts() *cc.ControlMessage {
	if at := d.gate.Next(); at == 0 || at.After(d.now) {
		return nil
	}
	if n, ok := d.gate.Emit(d.backlog(), d.now); ok {
		return &n
	}
	return nil
}

func (d *desk) wait(t units.Duration) { d.now = d.now.Add(t) }

// checkRTS checks an RTS, in packets.
func (d *desk) checkRTS(demand, spent, discarded int, flags cc.ControlFlags) {
	d.Helper()
	n := d.rts()
	require.NotNil(d, n, "an RTS is due")
	assert.EqualValues(d, demand*pkt, n.Demand, "demand")
	assert.EqualValues(d, spent*pkt, n.Spent, "spent")
	assert.EqualValues(d, discarded*pkt, n.Discarded, "discarded")
	assert.Equal(d, flags, n.Flags, "flags")
	assert.Nil(d, d.rts())
}

// Without an unscheduled phase a flow begins with an RTS, and packets are sent on tokens only.
func TestScheduled(t *testing.T) {
	d := newDesk(t, "unsch=0,k=1pkt")
	d.post(100)
	assert.Empty(t, d.take())
	d.checkRTS(100, 0, 0, 0)
	d.token(3, 0, false)
	marks := d.take()
	require.Len(t, marks, 3)
	for _, m := range marks {
		assert.Equal(t, cc.MarkWantsMore, m.Set, "100 packets are more than a BDP")
	}
	d.token(2, 0, false)
	assert.Empty(t, d.take(), "an older limit")
	d.token(60, 0, false)
	marks = d.take()
	require.Len(t, marks, 57)
	assert.Equal(t, cc.MarkWantsMore, marks[51].Set, "46 packets: 66 976 bytes, this one included")
	assert.Equal(t, cc.MarkWantsMore, marks[51].Set)
	assert.Zero(t, marks[52].Set, "45 packets: 65 520 bytes, less than 65 800")
	assert.Nil(t, d.rts(), "all of it is known")
}

// One BDP is sent at once, marked as unscheduled, together with an RTS if there is more.
func TestUnscheduled(t *testing.T) {
	for _, c := range []struct {
		posted, left int
		rts          bool
	}{{1, 1, false}, {45, 45, false}, {46, 45, true},
		{100, 45, true}} { // 45 packets are 65 520 of 65 800 bytes
		d := newDesk(t, "k=1pkt")
		d.post(c.posted)
		first := d.rts()
		marks := d.take()
		assert.Len(t, marks, c.left, "%d posted", c.posted)
		for _, m := range marks {
			assert.NotZero(t, m.Set&cc.MarkUnscheduled)
		}
		if !c.rts {
			assert.Nil(t, first)
			assert.Nil(t, d.rts())
			continue
		}
		require.NotNil(t, first)
		assert.Equal(t, cc.FlagUnscheduled, first.Flags)
		assert.EqualValues(t, (c.posted-c.left)*pkt, first.Demand)
		d.wait(10 * us)
		assert.Nil(t, d.rts())
	}
}

// A burst after a pause counts as a new flow, but unacknowledged unscheduled data never exceeds the
// bound.
func TestBurstsAreFlows(t *testing.T) {
	d := newDesk(t, "k=1pkt")
	d.post(30)
	assert.Len(t, d.take(), 30)
	d.post(30)
	assert.Len(t, d.take(), 15, "45 are in flight")
	d.token(15, 0, false)
	assert.Len(t, d.take(), 15)
	d.inFlight = 10 * pkt
	d.post(40)
	assert.Len(t, d.take(), 35, "at most 10 of those in flight are unscheduled")
	d = newDesk(t, "unsch=0,k=1pkt")
	for i := range 3 {
		d.post(2)
		d.checkRTS(2*i+2, 2*i, 0, 0)
		d.token(2*i+2, 0, false)
		assert.Len(t, d.take(), 2)
	}
}

// Tokens older than 200 us are discarded, and an RTS reports it.
func TestOldTokens(t *testing.T) {
	for _, c := range []struct {
		text  string
		after units.Duration
		left  int
	}{
		{"unsch=0,k=1pkt", 199 * us, 10},
		{"unsch=0,k=1pkt", 200 * us, 0},
		{"unsch=0,k=1pkt,age=50us", 50 * us, 0},
		{"unsch=0,k=1pkt,age=0s", units.Millisecond, 10},
	} {
		d := newDesk(t, c.text)
		d.post(100)
		d.checkRTS(100, 0, 0, 0)
		d.token(10, 0, false)
		d.wait(c.after)
		if c.left == 0 {
			d.checkRTS(110, 10, 10, cc.FlagRepeat)
		}
		assert.Len(t, d.take(), c.left, "%s after %v", c.text, c.after)
		if c.left == 0 {
			d.token(30, 0, false)
			assert.Len(t, d.take(), 20, "new ones are good")
		}
	}
}

// Tokens beyond the BDP at the rate of their arrival are discarded: here 10 per round trip.
func TestRealTimeBDP(t *testing.T) {
	for _, c := range []struct {
		realtime string
		left     int
	}{{"on", 12}, {"off", 40}} {
		d := newDesk(t, "unsch=0,k=1pkt,realtime="+c.realtime)
		d.post(1000)
		for i := range 40 {
			d.wait(paper.BaseRTT / 10)
			d.token(i+1, 0, false)
		}
		left := len(d.take())
		assert.InDelta(t, c.left, left, 8, "realtime=%s", c.realtime)
		assert.Equal(t, units.Bytes(40-left)*pkt, d.gate.(*Sender).Stats().Discarded)
	}
}

// A token that arrived with CE is echoed once, on the next packet or, as in appendix A, by a packet
// of its own, at most one per interval.
func TestEcho(t *testing.T) {
	d := newDesk(t, "unsch=0,k=1pkt")
	d.post(10)
	d.checkRTS(10, 0, 0, 0)
	d.token(2, 0, true)
	marks := d.take()
	assert.Equal(t, cc.MarkTokenMarked, marks[0].Set)
	assert.Zero(t, marks[1].Set)
	assert.Nil(t, d.rts())

	d = newDesk(t, "unsch=0,k=1pkt,echo=cnp")
	d.post(10)
	d.checkRTS(10, 0, 0, 0)
	d.token(1, 0, true)
	n := d.rts()
	require.NotNil(t, n)
	assert.EqualValues(t, 1, n.CE)
	d.token(2, 0, true)
	assert.Nil(t, d.rts(), "within 50 us")
	for _, m := range d.take() {
		assert.Zero(t, m.Set)
	}
	d.wait(50 * us)
	d.token(3, 0, true)
	n = d.rts()
	require.NotNil(t, n)
	assert.EqualValues(t, 3, n.CE)
}

// A sender that waits without a response repeats its RTS after 50 us, then at intervals that double
// up to 4 ms.
func TestDeadlockBreaker(t *testing.T) {
	d := newDesk(t, "unsch=0,k=1pkt")
	d.post(10)
	d.checkRTS(10, 0, 0, 0)
	for _, after := range []units.Duration{50 * us, 100 * us, 200 * us, 400 * us, 800 * us,
		1600 * us, 3200 * us, 4000 * us, 4000 * us} {
		d.wait(after - 1)
		require.Nil(t, d.rts(), "%v", after)
		d.wait(1)
		d.checkRTS(10, 0, 0, cc.FlagRepeat)
	}
	d.token(1, 0, false)
	d.take()
	d.wait(4000 * us) // a response after a repetition gives no sample
	n := d.rts()
	require.NotNil(t, n)
	assert.True(t, n.WithData, "a packet is in flight: behind it")
	assert.Zero(t, n.Flags)
	d.inFlight = 0
	d.wait(4000 * us)
	d.checkRTS(10, 1, 0, cc.FlagRepeat)

	d = newDesk(t, "unsch=0,k=1pkt,rts=off")
	d.post(10)
	d.wait(units.Second)
	assert.Nil(t, d.rts(), "rts=off shows what happens without")
}

// Tokens that arrive when nothing is left are spent; a receiver that repeats them is informed.
func TestNothingLeft(t *testing.T) {
	d := newDesk(t, "unsch=0,k=1pkt")
	d.post(2)
	d.checkRTS(2, 0, 0, 0)
	d.token(5, 0, false)
	assert.Len(t, d.take(), 2)
	assert.EqualValues(t, 3*pkt, d.gate.(*Sender).Stats().Unneeded)
	assert.Nil(t, d.rts())
	d.inFlight = 0
	d.token(5, cc.FlagRepeat, false)
	d.checkRTS(5, 5, 3, cc.FlagRepeat|cc.FlagEnd|cc.FlagReply)
	d.post(1)
	d.checkRTS(6, 5, 3, 0)
}

// Lost data needs tokens again, whatever it was first sent on.
func TestLost(t *testing.T) {
	d := newDesk(t, "k=1pkt")
	d.post(20)
	assert.Len(t, d.take(), 20)
	d.waits, d.inFlight = 3*pkt, 17*pkt
	d.gate.Lost(3*pkt, d.backlog(), d.now)
	d.checkRTS(3, 0, 0, 0)
	out := cc.Outgoing{Bytes: pkt, Again: true, Backlog: d.backlog()}
	assert.False(t, d.gate.Ready(&out, d.now))
	d.token(1, 0, false)
	require.True(t, d.gate.Ready(&out, d.now))
	assert.Zero(t, d.gate.Sent(&out, d.now).Set)
}

// Unscheduled packets of Aeolus are not ECN capable, and an RTS behind the last of them reports
// what was sent.
func TestAeolus(t *testing.T) {
	for _, c := range []struct {
		text   string
		posted int
		flags  cc.ControlFlags
	}{
		{"tocc+aeolus:k=1pkt,dscp=9", 3, cc.FlagEnd},
		{"ep+aeolus:dscp=9", 3, cc.FlagEnd},
		{"homa+aeolus", 3, cc.FlagEnd},
		{"tocc+aeolus:k=1pkt,dscp=9", 60, 0},
	} {
		d := newDesk(t, c.text)
		d.post(c.posted)
		if c.posted > 45 {
			require.NotNil(t, d.rts(), "what needs tokens is said before")
		}
		for i, m := range d.take() {
			assert.NotZero(t, m.Set&cc.MarkUnscheduled)
			assert.True(t, m.Classed)
			assert.Zero(t, m.TrafficClass&3, "%s: packet %d", c.text, i)
		}
		n := d.rts()
		require.NotNil(t, n, c.text)
		assert.True(t, n.WithData)
		assert.Equal(t, c.flags, n.Flags)
	}
}

// Invalid messages change nothing.
func TestVoidTokens(t *testing.T) {
	d := newDesk(t, "unsch=0,k=1pkt")
	assert.Error(t, d.gate.Receive(&cc.ControlMessage{Kind: cc.RTS}, d.backlog(), d.now))
	assert.Error(t,
		d.gate.Receive(&cc.ControlMessage{Kind: cc.TOKEN, Flags: cc.FlagSingle, Limit: 1},
			d.backlog(), d.now))
	d.post(10_000)
	require.NoError(t, d.gate.Receive(&cc.ControlMessage{Kind: cc.TOKEN, Limit: 1 << 30},
		d.backlog(),
		d.now))
	assert.InDelta(t, 16*65800/pkt, len(d.take()), 1, "clamped to 16 BDP")
	assert.EqualValues(t, 1, d.gate.(*Sender).Stats().Clamped)
	credits := newDesk(t, "expresspass")
	for _, n := range []cc.ControlMessage{{Kind: cc.RTS}, {Kind: cc.TOKEN, Limit: 5},
		{Kind: cc.TOKEN, Flags: cc.FlagSingle},
		{Kind: cc.TOKEN, Flags: cc.FlagSingle, Limit: 1 << 31}} {
		assert.Error(t, credits.gate.Receive(&n, credits.backlog(), credits.now), "%+v", n)
	}
}

// Counters wrap around.
func TestCountersWrap(t *testing.T) {
	for _, c := range []struct {
		ref  units.Bytes
		wire uint32
		is   units.Bytes
	}{
		{0, 5, 5}, {5, 0, 0}, {1 << 32, 7, 1<<32 + 7}, {1<<32 - 1, 3, 1<<32 + 3}, {1<<32 + 3,
			1<<32 - 1, 1<<32 - 1}, {5, 1<<32 - 1, -1},
	} {
		assert.Equal(t, c.is, unwrap32(c.ref, c.wire), "%d near %d", c.wire, c.ref)
	}
	assert.Equal(t, units.Bytes(1<<24+2), unwrap24(1<<24-1, 2))
	assert.Equal(t, units.Bytes(1<<24-1), unwrap24(1<<24+1, 1<<24-1))

	spec := parse(t, "unsch=0,cc=none,k=1pkt")
	m := newModel(t, spec, paper, 1)
	s, r := m.gate.(*Sender), m.granter.(*Receiver)
	s.limit, s.spent, s.announced, s.discarded = 1<<32-5000, 1<<32-5000, 1<<32-5000, 1<<24-1
	r.limit, r.spent, r.demand, r.reportedSpent, r.discarded, r.used = 1<<32-5000, 1<<32-5000,
		1<<32-5000,
		1<<32-5000, 1<<24-1, 1<<32-5000-1<<24+1
	m.post(units.MiB)
	m.run(units.Millisecond)
	assert.True(t, m.done())
	assert.Equal(t, units.MiB, r.stats.Granted)
}

// token returns a TOKEN with a limit.
func token(limit units.Bytes) *cc.ControlMessage {
	return &cc.ControlMessage{Kind: cc.TOKEN, Limit: uint32(limit)}
}

// Tokens for less than the waiting packet do not expire: the rest may take longer to arrive.
// Together they expire when they admit a packet.
func TestPartsDoNotAge(t *testing.T) {
	s, _ := pair(t, "unsch=0,age=20us", paper)
	b := cc.Backlog{Waits: 28}
	s.Posted(28, b, 1)
	require.NoError(t, s.Receive(token(27), b, 2))
	late := units.Time(0).Add(50 * us)
	out := &cc.Outgoing{Bytes: 28, Message: 28, Backlog: b}
	assert.False(t, s.Ready(out, late))
	require.NoError(t, s.Receive(token(28), b, late))
	assert.Zero(t, s.Stats().Discarded)
	assert.True(t, s.Ready(out, late))
	later := late.Add(21 * us)
	assert.False(t, s.Ready(out, later))
	require.NoError(t, s.Receive(token(28), b, later))
	assert.EqualValues(t, 28, s.Stats().Discarded)
}
