package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/units"
)

// With a virtual priority over tokens, a flow of low priority begins with a probe, a TOKEN that
// grants nothing, and then gets exactly the tokens that it needs.
func TestVirtualPriorityOverTokens(t *testing.T) {
	swift, err := cc.Parse("swift")
	require.NoError(t, err)
	channels, err := prioplus.ParseChannels("8")
	require.NoError(t, err)
	for _, priority := range []int{0, 4, 7} {
		spec := parse(t, "unsch=0,k=1pkt").WithTokenCC(prioplus.Spec{Inner: swift,
			Channels: channels, Priority: priority})
		assert.Contains(t, spec.String(), "priority")
		m := newModel(t, spec, paper, 1)
		m.post(units.MiB)
		m.run(20 * units.Millisecond)
		assert.True(t, m.done(), "priority %d", priority)
		assert.Equal(t, units.MiB, m.granter.(*Receiver).Stats().Granted)
		asked := m.granter.(*Receiver).Stats().Messages - uint64((units.MiB+pkt-1)/pkt)
		assert.Equal(t, priority < 7, asked > 0, "priority %d asked %d times", priority, asked)
	}
}

// Any algorithm that needs only delay and marks completes a flow; those that need more are refused.
func TestEveryTokenCC(t *testing.T) {
	for _, name := range cc.Names() {
		spec := parse(t, "unsch=0,k=2pkt,cc="+name)
		if name == "hpcc" || name == "bolt" {
			_, _, err := spec.New(paper)
			assert.ErrorContains(t, err, "tokens give delay", name)
			continue
		}
		m := newModel(t, spec, paper, 1)
		m.marks = 0.01
		m.post(10 * units.MiB)
		m.run(100 * units.Millisecond)
		assert.True(t, m.done(), name)
		assert.Equal(t, 10*units.MiB, m.granter.(*Receiver).Stats().Granted, name)
	}
}
