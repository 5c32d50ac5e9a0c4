package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A queue pair that was destroyed while it waited for a neighbour does not touch the timer of the
// one that has its flow ID now, nor does a program that resets it.
func TestDestroyedQueuePairLeavesTimersAlone(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.depth = 4
	p.la.tamper = func([]byte) int { return 0 } // no address is resolved
	p.lb.tamper = p.la.tamper
	old, b := p.connected(o)
	old.write(t, b, 8)
	p.settle(units.Microsecond)
	require.True(t, old.qp.awaitsNeighbor)
	old.qp.Destroy()

	other := o.make(t, p.a)
	require.Equal(t, old.qp.cong.flow, other.qp.cong.flow)
	other.qp.loss.rtoAt = p.now.Add(wire.AckTimeout(10))
	other.qp.setTimer()
	p.a.wakeWaiting()
	old.qp.Modify(Reset, QPAttr{})
	at, ok := p.a.timers.Next()
	require.True(t, ok)
	require.Equal(t, slotOf(other.qp.loss.rtoAt, pace.Slot), at)
}

// A queue pair that lost a completion and was reset before the endpoint handled that starts afresh.
func TestResetAfterAnOverrun(t *testing.T) {
	p := newPair(t)
	o := defaults()
	a, b := p.connected(o)
	a.qp.cqOverran()
	require.Equal(t, Errored, a.qp.state)
	a.qp.Modify(Reset, QPAttr{})
	p.settle(units.Microsecond)
	require.Equal(t, Reset, a.qp.State())
	_, ok := p.a.PollAsync()
	require.False(t, ok)
	a.connect(t, o, b)
	a.write(t, b, 8)
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
}
