package nicoffload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
)

// Flows are adopted in any order, and a call for an unknown flow loses none of the others.
func TestAdoptionInAnyOrder(t *testing.T) {
	r := NewHandoff()
	put := func(h Handle) { r.Put(h, &scribe{}, cc.Decision{Window: 7}) }
	for i := range uint32(4) {
		put(NewHandle(i, 0))
	}
	_, err := r.Adopt(NewHandle(77, 0))
	assert.ErrorContains(t, err, "no algorithm for flow 77.0")
	put(NewHandle(2, 1)) // 2.0 has ended without being adopted
	for _, h := range []Handle{NewHandle(3, 0), NewHandle(0, 0), NewHandle(2, 1), NewHandle(1, 0)} {
		a, err := r.Adopt(h)
		require.NoError(t, err, h)
		assert.EqualValues(t, 7, a.(cc.Starter).Start(0).Window)
		_, err = r.Adopt(h)
		assert.Error(t, err, "%v adopted twice", h)
	}
	assert.Empty(t, r.skipped, "skipped entries remain")
}

// A NIC that died had not reported all flows. The next one reports them in no particular order, and
// each gets its algorithm.
func TestFlowsBeganBeforeTheNICDied(t *testing.T) {
	a, err := InitProcessLink(AlignedMemory(ProcessLinkBytes), false)
	require.NoError(t, err)
	remote, err := a.Remote(0)
	require.NoError(t, err)
	host, err := a.Host()
	require.NoError(t, err)
	c, agent, err := NewSplit(remote, host, AgentConfig{}, ControllerConfig{}, true, 0)
	require.NoError(t, err)
	served := func() *ServedNIC {
		s, err := a.Serve(newNIC(t, Config{}))
		require.NoError(t, err)
		return s
	}
	const flows = 50
	for range flows {
		c.Add(&scribe{}, 0)
	}
	served().signals.Pull(make([]byte, SignalSlots*Slot)) // it dies after it has read them
	remote.Reopen(0)
	served().Poll(at(1))
	agent.Poll(at(2))
	assert.NotZero(t, agent.Counters().Messages)
	assert.Zero(t, agent.Counters().Refused)
}
