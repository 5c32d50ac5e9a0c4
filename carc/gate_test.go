package carc

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// countingReporter is a cc.Reporter that counts calls of Reschedule.
type countingReporter struct{ asks int }

func (*countingReporter) Report(*cc.Event, units.Time) {}
func (b *countingReporter) Reschedule()                { b.asks++ }

const us = units.Microsecond

var path = cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 10 * us, Payload: 1024}

// sender returns a gate that has received credits.
func sender(t *testing.T, text string, credits uint32) *Gate {
	spec, err := Parse(text)
	require.NoError(t, err)
	gate, _, err := spec.On(Cache{Size: units.MiB}).Endpoint().New(path)
	require.NoError(t, err)
	require.NoError(t, receiveCredit(gate, 0, credits, 1))
	return gate
}

func receiveCredit(g *Gate, returned uint64, credits uint32, epoch uint8) error {
	return g.Receive(&cc.ControlMessage{Kind: cc.CREDIT, Returned: returned, Credits: credits,
		Epoch: epoch}, cc.Backlog{}, 1)
}

// sends reports whether a message leaves now.
func sends(g *Gate, bytes units.Bytes, now units.Time) bool {
	p := cc.Outgoing{Bytes: min(bytes, 1024), Message: bytes, Completes: true,
		Backlog: cc.Backlog{Waits: bytes}}
	if !g.Ready(&p, now) {
		return false
	}
	g.Sent(&p, now)
	return true
}

func TestMessageTakesItsLinesOnce(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		p    cc.Outgoing
		want Lines
	}{
		"SEND": {"", cc.Outgoing{Bytes: 1024, Message: 4097, Completes: true},
			65},
		"of no length":     {"", cc.Outgoing{Completes: true}, 0},
		"inside a message": {"", cc.Outgoing{Bytes: 1024, Completes: true}, 0},
		"sent again": {"", cc.Outgoing{Bytes: 1024, Message: 4097, Completes: true,
			Again: true}, 0},
		"plain WRITE":            {"", cc.Outgoing{Bytes: 1024, Message: 4097}, 0},
		"WRITE that is consumed": {"writes=on", cc.Outgoing{Bytes: 1024, Message: 4097}, 65},
		"lines of 128 bytes": {"line=128B", cc.Outgoing{Bytes: 1024, Message: 4097,
			Completes: true}, 33},
	} {
		g := sender(t, c.text, 1000)
		require.True(t, g.Ready(&c.p, 1), name)
		g.Sent(&c.p, 1)
		assert.Equal(t, c.want, g.Outstanding(), name)
	}
}

// With credits for four messages four leave, and the next one when one is returned.
func TestMessageWaitsForCredits(t *testing.T) {
	g := sender(t, "", 64)
	for range 4 {
		require.True(t, sends(g, 1024, 1))
	}
	require.False(t, sends(g, 1024, 1))
	require.NoError(t, receiveCredit(g, 15, 64, 1))
	require.False(t, sends(g, 1024, 1), "one line short")
	require.NoError(t, receiveCredit(g, 16, 64, 1))
	assert.True(t, sends(g, 1024, 101))
	assert.Equal(t, GateStats{Messages: 5, Blocked: 1, Waited: 100, Received: 3}, g.Stats())
}

// A message larger than all credits leaves alone, and nothing leaves beside it.
func TestLargeMessageLeavesAlone(t *testing.T) {
	g := sender(t, "", 64)
	require.True(t, sends(g, 64, 1))
	require.False(t, sends(g, 65*64, 1))
	require.NoError(t, receiveCredit(g, 1, 64, 1))
	require.True(t, sends(g, 65*64, 1))
	assert.EqualValues(t, 1, g.Stats().Overdrawn)
	require.False(t, sends(g, 1, 1))
	require.NoError(t, receiveCredit(g, 1+65, 64, 1))
	assert.True(t, sends(g, 1, 1))
}

// Fewer credits revoke nothing: messages wait until fewer lines are outstanding.
func TestFewerCreditsRevokeNothing(t *testing.T) {
	g := sender(t, "", 64)
	require.True(t, sends(g, 4096, 1))
	require.NoError(t, receiveCredit(g, 0, 16, 2))
	assert.EqualValues(t, 64, g.Outstanding())
	require.NoError(t, receiveCredit(g, 48, 16, 2))
	require.False(t, sends(g, 64, 1))
	require.NoError(t, receiveCredit(g, 49, 16, 2))
	assert.True(t, sends(g, 64, 1))
}

// A late CREDIT changes nothing. Of CREDITs that return the same number of lines the newer epoch
// applies, across its wraparound.
func TestCreditThatComesLate(t *testing.T) {
	g := sender(t, "", 64)
	require.True(t, sends(g, 4096, 1))
	require.NoError(t, receiveCredit(g, 32, 100, 2))
	require.NoError(t, receiveCredit(g, 16, 64, 1))
	assert.EqualValues(t, 100, g.Credits())
	require.NoError(t, receiveCredit(g, 32, 64, 1))
	assert.EqualValues(t, 100, g.Credits())
	for epoch := range 300 {
		require.NoError(t, receiveCredit(g, 32, uint32(1000+epoch), uint8(3+epoch)))
		assert.EqualValues(t, 1000+epoch, g.Credits())
	}
	assert.EqualValues(t, 32, g.Outstanding())
}

// After an outage in which half or more of the epochs passed, the next CREDIT applies, whatever its
// epoch.
func TestCreditAfterAnOutage(t *testing.T) {
	g := sender(t, "mode=rr", 64)
	credit := cc.ControlMessage{Kind: cc.CREDIT, Credits: 32, Epoch: 1 + 200}
	require.NoError(t, g.Receive(&credit, cc.Backlog{}, units.Time(1).Add(maxCreditAge-1)))
	assert.EqualValues(t, 64, g.Credits(), "the CREDIT may be late")
	require.NoError(t, g.Receive(&credit, cc.Backlog{}, units.Time(1).Add(maxCreditAge)))
	assert.EqualValues(t, 32, g.Credits())
}

func TestVoidCredits(t *testing.T) {
	g := sender(t, "", 64)
	require.True(t, sends(g, 4096, 1))
	before := *g
	for name, c := range map[string]struct {
		n    cc.ControlMessage
		want string
	}{
		"more returned than was posted": {cc.ControlMessage{Kind: cc.CREDIT, Credits: 64, Epoch: 2,
			Returned: 65}, "65 lines returned of 64 posted"},
		"that, and much more": {cc.ControlMessage{Kind: cc.CREDIT, Credits: 64, Epoch: 2,
			Returned: 1 << 63}, "posted"},
		"no credits": {cc.ControlMessage{Kind: cc.CREDIT, Epoch: 2}, "out of range [1, 67108864]"},
		"more than any cache has": {cc.ControlMessage{Kind: cc.CREDIT, Credits: 1<<26 + 1,
			Epoch: 2}, "out of range [1, 67108864]"},
		"a query": {cc.ControlMessage{Kind: cc.CREDIT, Credits: 64,
			Flags: cc.FlagQuery}, "got a query"},
		"a TOKEN": {cc.ControlMessage{Kind: cc.TOKEN, Limit: 64}, "want CREDIT"},
	} {
		err := g.Receive(&c.n, cc.Backlog{}, 2)
		assert.ErrorContains(t, err, c.want, name)
		assert.Equal(t, c.n.Returned > 64, errors.Is(err, cc.ErrForged), name)
		assert.Equal(t, before, *g, name)
	}
	_, granter, err := Spec{settings: "llc=1MiB"}.Endpoint().New(path)
	require.NoError(t, err)
	granter.Attach(&countingReporter{})
	assert.ErrorIs(t,
		granter.Receive(&cc.ControlMessage{Kind: cc.CREDIT, Flags: cc.FlagQuery, Returned: 1}, 1),
		cc.ErrForged)
	assert.ErrorContains(t, granter.Receive(&cc.ControlMessage{Kind: cc.CREDIT}, 1), "want a query")
	assert.ErrorContains(t, granter.Receive(&cc.ControlMessage{Kind: cc.RTS}, 1),
		"want CREDIT")
}

// A sender that waits sends a query after three round trips, but not before 50 us, and then at
// intervals that double up to 1 ms.
func TestWaitingSenderQueries(t *testing.T) {
	g := sender(t, "", 16)
	require.Zero(t, g.Next())
	require.True(t, sends(g, 1024, 1))
	require.Zero(t, g.Next(), "nothing waits")
	require.False(t, sends(g, 1024, 1))
	waits := cc.Backlog{Waits: 1024, InFlight: 1024}
	now := units.Time(1)
	for _, after := range []units.Duration{50, 100, 200, 400, 800, 1000, 1000} {
		require.Equal(t, now.Add(after*us), g.Next())
		_, some := g.Emit(waits, g.Next()-1)
		require.False(t, some)
		now = g.Next()
		n, some := g.Emit(waits, now)
		require.True(t, some)
		require.Equal(t, cc.ControlMessage{Kind: cc.CREDIT, Flags: cc.FlagQuery}, n)
	}
	g.Lost(0, waits, now)
	assert.NotZero(t, g.Next(), "some of the waiting data was cancelled")
	_, some := g.Emit(cc.Backlog{}, g.Next())
	assert.False(t, some, "the rest of it has left")
	assert.Zero(t, g.Next())

	g = sender(t, "", 16)
	require.True(t, sends(g, 1024, 1))
	require.False(t, sends(g, 1024, 1))
	g.Lost(0, cc.Backlog{}, now)
	assert.Zero(t, g.Next(), "everything was cancelled")
	assert.Zero(t, g.BlockedSince())
	assert.Equal(t, now.Sub(1), g.Stats().Waited)
	g.credits = 32
	require.True(t, sends(g, 1024, now.Add(us)))
	assert.Equal(t, now.Sub(1), g.Stats().Waited, "nothing has waited since")
}

// In request-response mode the response returns the credits of its own request only.
func TestResponseReturnsItsRequest(t *testing.T) {
	g := sender(t, "mode=rr", 64)
	require.True(t, sends(g, 3072, 1))
	require.True(t, sends(g, 1000, 1))
	require.False(t, sends(g, 64, 1))
	g.Answered(1000, 2)
	assert.EqualValues(t, 48, g.Outstanding())
	assert.True(t, sends(g, 1024, 1))
	require.ErrorIs(t, receiveCredit(g, 65, 64, 2), cc.ErrForged, "of 80 posted 16 were answered")
	g.Answered(1<<30, 2) // an error of the program
	assert.Zero(t, g.Outstanding())

	oneway := sender(t, "", 64)
	require.True(t, sends(oneway, 3072, 1))
	oneway.Answered(3072, 2)
	assert.EqualValues(t, 48, oneway.Outstanding())
}

func TestTermsOfTheConnection(t *testing.T) {
	spec, err := Parse("llc=1MiB,line=128B,mode=rr,writes=on,delta=off")
	require.NoError(t, err)
	gate, granter, err := spec.Endpoint().New(path)
	require.NoError(t, err)
	granter.Attach(&countingReporter{})
	assert.Equal(t, cc.CreditTerms{Line: 128, Responses: true, Writes: true}, gate.Terms())
	assert.Equal(t, cc.CreditTerms{Line: 128, Lines: 8192, Responses: true, Writes: true},
		granter.Terms())
	agreed := cc.CreditTerms{Line: 64, Lines: 5000}
	gate.Agree(agreed)
	assert.EqualValues(t, 5000, gate.Credits())
	assert.True(t, gate.Ready(&cc.Outgoing{Message: units.GiB}, 1),
		"plain WRITEs take no credits, as agreed")
	gate.Sent(&cc.Outgoing{Message: units.GiB}, 1)
	assert.Zero(t, gate.Outstanding())
	agreed.Lines = 8192
	granter.Agree(agreed)
	n, some := granter.Emit(false, 1)
	require.True(t, some, "lines half as long: twice as many")
	assert.EqualValues(t, 16384, n.Credits)
	granter.Delivered(64, 2)
	granter.Consumed(64, 2)
	n, some = granter.Emit(false, 2)
	require.True(t, some)
	assert.EqualValues(t, 1, n.Returned, "one-way, as agreed")
}
