package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// TestArtifactTrace follows one flow in a run of the paper's published simulator (figure 10c), with
// its one-way delays as round trips: 6009 ns more. Where its rules differ from the paper's, the
// paper's value is asserted, and the message has the simulator's.
func TestArtifactTrace(t *testing.T) {
	const ns = units.Nanosecond
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12178 * ns, Payload: 1054,
		Signals: cc.SignalDelay}
	a, err := specOf(t, "swift:ai=182B", "w_low=19028B", 1).New(path)
	require.NoError(t, err)
	b := &bench{PrioPlus: a.(*PrioPlus), t: t, left: 1 << 40}
	cwnd := func() float64 { return 1054 * float64(b.inner.Cwnd()) }
	ack := func(oneWay units.Duration, rttEnd bool) {
		if rttEnd {
			b.una = b.rttEndSeq
		}
		b.una++
		b.sent = max(b.sent, b.una) + 19
		b.on(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1054, Delay: (oneWay + 6009) * ns})
	}
	b.on(cc.Event{Kind: cc.POST})
	assert.Equal(t, (14168+6009+1)*ns, b.Target, "100 KB of queue")
	assert.Equal(t, (16569+6009)*ns, b.Limit)

	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: (6010+6009)*ns - b.probeSaving})
	assert.InDelta(t, 19028, cwnd(), 1e-6, "W_LS")
	assert.EqualValues(t, 19, b.rttEndSeq, "packets of the first window")

	ack(7113, true)
	assert.InDelta(t, 38056, cwnd(), 6,
		"W_LS more, and Swift's own increase, which the artifact leaves out here")
	before := cwnd()
	ack(7281, false)
	assert.InDelta(t, 182*1054/before, cwnd()-before, 1e-3,
		"beyond eps: Swift's increase; the artifact's is 4.905, of a window rounded up")

	b.inner.SetCwnd(38204. / 1054)
	ack(14481, false)
	assert.InDelta(t, 38204*(1-.8*(14481-14169)/(14481+6009)), cwnd(), 0.1,
		"of the round trip; the artifact's is of the one-way delay, 37543")

	b.inner.SetCwnd(37543. / 1054)
	b.now = b.now.Add(units.Millisecond)
	ack(16700, false)
	b.inner.SetCwnd(37543. / 1054)
	ack(16756, false)
	require.True(t, b.stopped, "the second sample beyond the limit")
	assert.InDelta(t, 7.58, b.nflow, 0.005, "delay*LineRate/cwnd; the artifact's is 4, scaled by "+
		"base round trip over target and rounded down")

	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: (6010+6009)*ns - b.probeSaving})
	assert.InDelta(t, 19028/7.58, cwnd(), 2)
	ack(6100, true)
	assert.InDelta(t, 2*19028/7.58, cwnd(), 15)
}
