package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// token is a TOKEN that brings a sender to a limit.
func token(limit units.Bytes) *cc.Notice {
	return &cc.Notice{Kind: cc.NoticeToken, Limit: uint32(limit)}
}

// Tokens that are less than the packet that waits do not grow old: the rest may take longer to come than that. All of
// them do when they let a packet go.
func TestPartsDoNotAge(t *testing.T) {
	s, _ := pair(t, "unsch=0,age=20us", paper)
	b := cc.Backlog{Waits: 28}
	s.Posted(28, b, 1)
	require.NoError(t, s.Hear(token(27), b, 2))
	late := units.Time(0).Add(50 * us)
	out := &cc.Outgoing{Bytes: 28, Message: 28, Backlog: b}
	assert.False(t, s.Ready(out, late))
	require.NoError(t, s.Hear(token(28), b, late))
	assert.Zero(t, s.Tally().Discarded)
	assert.True(t, s.Ready(out, late))
	later := late.Add(21 * us)
	assert.False(t, s.Ready(out, later))
	require.NoError(t, s.Hear(token(28), b, later))
	assert.EqualValues(t, 28, s.Tally().Discarded)
}

// An RTS that repeats tells the receiver that nothing is under way. While something is, it does not repeat.
func TestRepeatsWhenNothingIsUnderWay(t *testing.T) {
	for _, inFlight := range []units.Bytes{0, 1456} {
		s, _ := pair(t, "unsch=0", paper)
		b := cc.Backlog{Waits: 1456}
		s.Posted(1456, b, 1)
		n, ok := s.Emit(b, 1)
		require.True(t, ok)
		require.Zero(t, n.Flags&cc.NoticeRepeat)
		b.InFlight = inFlight
		n, ok = s.Emit(b, s.Next())
		require.True(t, ok)
		assert.Equal(t, inFlight == 0, n.Flags&cc.NoticeRepeat != 0)
	}
}
