package nicoffload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
)

// Flows are adopted in whatever order they are asked for, and one that nobody began makes none of
// the others lost.
func TestRosterInAnyOrder(t *testing.T) {
	r := NewRoster()
	put := func(h Handle) { r.Put(h, &scribe{}, cc.Decision{Window: 7}) }
	for i := range uint32(4) {
		put(NewHandle(i, 0))
	}
	_, err := r.Adopt(NewHandle(77, 0))
	assert.ErrorContains(t, err, "nobody began flow 77.0")
	put(NewHandle(2, 1)) // 2.0 ended, and nobody asked for it
	for _, h := range []Handle{NewHandle(3, 0), NewHandle(0, 0), NewHandle(2, 1), NewHandle(1, 0)} {
		a, err := r.Adopt(h)
		require.NoError(t, err, h)
		assert.EqualValues(t, 7, a.(cc.Starter).Start(0).Window)
		_, err = r.Adopt(h)
		assert.Error(t, err, "%v once", h)
	}
	assert.Empty(t, r.passed, "what was passed over does not pile up")
}

// A NIC that died took with it which flows began. The next one hears of them in no order, and each
// gets its algorithm.
func TestFlowsBeganBeforeTheNICDied(t *testing.T) {
	a, err := MakeApart(AlignedMemory(ApartBytes), false)
	require.NoError(t, err)
	remote, err := a.Remote(0)
	require.NoError(t, err)
	host, err := a.Host()
	require.NoError(t, err)
	c, agent, err := NewOver(remote, host, AgentConfig{}, ControllerConfig{}, true, 0)
	require.NoError(t, err)
	served := func() *Served {
		s, err := a.Serve(newNIC(t, Config{}))
		require.NoError(t, err)
		return s
	}
	const flows = 50
	for range flows {
		c.Add(&scribe{}, 0)
	}
	served().signals.Pull(make([]byte, SignalSlots*Slot)) // dead as soon as it had heard of them
	remote.Reopen(0)
	served().Poll(at(1))
	agent.Poll(at(2))
	assert.NotZero(t, agent.Counters().Messages)
	assert.Zero(t, agent.Counters().Refused)
}
