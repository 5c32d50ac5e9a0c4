package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// receiver returns a granter that has announced its credits.
func receiver(t *testing.T, text string) *Granter {
	_, all := connections(t, text, Share{})
	emitAll(all, 1)
	return all[0]
}

// An eighth of the credits is returned at once. Fewer are returned when a CREDIT is sent anyway,
// and after a delay only when the sender may run out of credits.
func TestWhenLinesAreReturned(t *testing.T) {
	g := receiver(t, "llc=64KiB,delta=off") // 1024 lines
	now := units.Time(2)
	for range 7 {
		g.Delivered(1024, now)
	}
	g.Consumed(1024, now)
	assert.Zero(t, g.Next(), "the sender has enough credits")
	n, some := g.Emit(false, now)
	require.True(t, some, "an ACK may carry it")
	assert.EqualValues(t, 16, n.Returned)
	_, some = g.Emit(false, now)
	assert.False(t, some, "nothing new")
	for range 26 {
		g.Delivered(1024, now)
	}
	g.Consumed(1024, now)
	g.Consumed(1024, now.Add(us))
	assert.Equal(t, now.Add(10*us), g.Next(),
		"half of the credits are outstanding: 10 us after the first line")
	for range 6 {
		g.Consumed(1024, now.Add(2*us))
	}
	assert.Equal(t, now.Add(2*us), g.Next(), "128 lines of 1024")
}

func TestQueryGetsAReplyAtOnce(t *testing.T) {
	g := receiver(t, "llc=64KiB,delta=off")
	require.NoError(t, g.Receive(&cc.ControlMessage{Kind: cc.CREDIT, Flags: cc.FlagQuery}, 5))
	require.Equal(t, units.Time(5), g.Next())
	n, some := g.Emit(false, 5)
	require.True(t, some)
	assert.Equal(t, cc.ControlMessage{Kind: cc.CREDIT, Credits: 1024, Epoch: 1}, n)
	assert.Zero(t, g.Next(), "once")
}

// Where nothing leaves that lines could be piggybacked on, one CREDIT returns 64 messages or more.
func TestExplicitReturnsAreFew(t *testing.T) {
	g := receiver(t, "llc=12MiB,delta=off")
	now, messages := units.Time(2), 0
	for ; messages < 100000; messages++ {
		now = now.Add(800 * units.Nanosecond)
		g.Delivered(1024, now)
		if messages >= 6000 { // half of the credits are outstanding
			g.Consumed(1024, now)
		}
		if at := g.Next(); at != 0 && !at.After(now) {
			g.Emit(false, now)
		}
	}
	assert.Less(t, g.Stats().Credits*64, uint64(messages))
	assert.Greater(t, g.Stats().Credits, uint64(20))
}

// A program cannot return more than it received.
func TestProgramCannotReturnTooMuch(t *testing.T) {
	g := receiver(t, "llc=64KiB")
	g.Delivered(1024, 2)
	g.Consumed(4096, 3)
	g.Consumed(64, 3)
	n, some := g.Emit(false, 3)
	require.True(t, some)
	assert.EqualValues(t, 16, n.Returned)
	assert.Zero(t, g.Unconsumed())
	assert.Zero(t, g.sensor.Unconsumed())
}

// For a request the sender learns how long it waited, and how long the program took.
func TestTimesOfRequests(t *testing.T) {
	g := receiver(t, "llc=64KiB,mode=rr")
	at := func(n int) units.Time { return units.Time(1).Add(units.Duration(n) * us) }
	for _, c := range []struct{ delivered, second, consumed, waited, served int }{
		{delivered: 10, second: 12, consumed: 15, served: 5},
		{delivered: 30, second: 31, consumed: 34, served: 4},
	} {
		g.Delivered(1024, at(c.delivered))
		g.Delivered(1024, at(c.second))
		g.Consumed(1024, at(c.consumed))
		n, some := g.Emit(false, at(c.consumed))
		require.True(t, some)
		assert.Zero(t, n.Returned, "the response returns it")
		assert.Equal(t, units.Duration(c.waited)*us, n.Waited)
		assert.Equal(t, units.Duration(c.served)*us, n.Served)
		g.Consumed(1024, at(c.consumed+1))
	}
	for range 3 {
		g.Delivered(1024, at(50))
	}
	g.Consumed(1024, at(53))
	g.Delivered(1024, at(54)) // the next one that is timed
	for _, when := range []int{55, 57, 60} {
		g.Consumed(1024, at(when))
	}
	n, _ := g.Emit(false, at(60))
	assert.Equal(t, 3*us, n.Waited)
	assert.Equal(t, 3*us, n.Served)
}
