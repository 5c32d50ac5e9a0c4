package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

type bell struct{ rung int }

func (*bell) Report(*cc.Event, units.Time) {}
func (b *bell) Ask()                       { b.rung++ }

const us = units.Microsecond

var path = cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 10 * us, Payload: 1024}

// A sender with credits for four packets sends four messages of a packet, and the next one when one was consumed.
func TestMessagesWaitForCredits(t *testing.T) {
	spec, err := Parse("llc=4KiB,delta=off,gather=0s")
	require.NoError(t, err)
	gate, granter, err := spec.Endpoint().New(path)
	require.NoError(t, err)
	granter.Attach(&bell{})
	now := units.Time(1)
	n, some := granter.Emit(false, now)
	require.True(t, some)
	assert.EqualValues(t, 64, n.Credits)
	require.NoError(t, gate.Hear(&n, cc.Backlog{}, now))
	p := cc.Outgoing{Bytes: 1024, Message: 1024, Completes: true, Backlog: cc.Backlog{Waits: 10240}}
	for range 4 {
		require.True(t, gate.Ready(&p, now))
		gate.Took(&p, now)
		granter.Delivered(1024, true, now)
	}
	require.False(t, gate.Ready(&p, now))
	assert.EqualValues(t, 1, gate.Stats().Blocked)
	granter.Consumed(1024, now)
	require.NotZero(t, granter.Next())
	n, some = granter.Emit(false, now)
	require.True(t, some)
	require.NoError(t, gate.Hear(&n, p.Backlog, now))
	assert.True(t, gate.Ready(&p, now))
	n.Returned = 65
	assert.ErrorIs(t, gate.Hear(&n, p.Backlog, now), cc.ErrForged)
}
