package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// TestArtifactTrace follows one flow in a run of the paper's published simulator (figure 10c), with
// its one-way delays as round trips: 6009 ns more. Where that simulator's rules differ, the paper's
// value is asserted, and TestArtifactRules has the other.
func TestArtifactTrace(t *testing.T) {
	b := newReplay(t, "")
	assert.Equal(t, (14168+6009+1)*ns, b.Target, "100 KB of queue")
	assert.Equal(t, (16569+6009)*ns, b.Limit)

	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: (6010+6009)*ns - b.probeSaving})
	assert.InDelta(t, 19028, b.bytes(), 1e-6, "W_LS")
	assert.EqualValues(t, 19, b.rttEndSeq, "packets of the first window")

	b.ack(7113, true)
	assert.InDelta(t, 38056, b.bytes(), 6, "W_LS more, and Swift's own increase")
	before := b.bytes()
	b.ack(7281, false)
	assert.InDelta(t, 182*1054/before, b.bytes()-before, 1e-3,
		"beyond eps: Swift's increase; the artifact's is 4.905, of a window rounded up")

	b.inner.SetCwnd(38204. / 1054)
	b.ack(14481, false)
	assert.InDelta(t, 38204*(1-.8*(14481-14169)/(14481+6009)), b.bytes(), 0.1, "of the round trip")

	b.inner.SetCwnd(37543. / 1054)
	b.now = b.now.Add(units.Millisecond)
	b.ack(16700, false)
	b.inner.SetCwnd(37543. / 1054)
	b.ack(16756, false)
	require.True(t, b.stopped, "the second sample beyond the limit")
	assert.InDelta(t, 7.58, b.nflow, 0.005, "delay*LineRate/cwnd")

	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: (6010+6009)*ns - b.probeSaving})
	assert.InDelta(t, 19028/7.58, b.bytes(), 2)
	b.ack(6100, true)
	assert.InDelta(t, 2*19028/7.58, b.bytes(), 15)
}

// TestArtifactRules: with option artifact the same flow has the simulator's windows, within a byte.
func TestArtifactRules(t *testing.T) {
	// There D_target and D_limit are a nanosecond less and more, because of rounding.
	b := newReplay(t, ",artifact=on,a=3199500ps,limit=2401ns")
	assert.Equal(t, (14168+6009)*ns, b.Target)
	assert.Equal(t, (16569+6009)*ns, b.Limit)
	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: (6010+6009)*ns - b.probeSaving})
	assert.InDelta(t, 19028, b.bytes(), 1)
	b.ack(7113, true)
	assert.InDelta(t, 38056, b.bytes(), 1, "no increase by Swift at the base round trip")
	b.ack(7281, false)
	assert.InDelta(t, 38060, b.bytes(), 1.1)
	b.inner.SetCwnd(38204. / 1054)
	b.ack(14481, false)
	assert.InDelta(t, 37543, b.bytes(), 1, "a cut by the one-way delay")
	b.inner.SetCwnd(37543. / 1054)
	b.now = b.now.Add(units.Millisecond)
	b.ack(16700, false)
	b.inner.SetCwnd(37543. / 1054)
	b.ack(16756, false)
	require.True(t, b.stopped)
	assert.EqualValues(t, 4, b.nflow, "4.57: relative to D_target, in whole flows")
	assert.InDelta(t, 182./1054, float64(b.inner.AI()), 1e-9, "five flows have the W_AI of one")
	assert.EqualValues(t, 8+2, b.countDown)
	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: (6010+6009)*ns - b.probeSaving})
	assert.InDelta(t, 4757, b.bytes(), 1)
	b.ack(6100, true)
	assert.InDelta(t, 9514, b.bytes(), 1)
}

const ns = units.Nanosecond

// replay is the flow of the trace.
type replay struct{ *bench }

func newReplay(t *testing.T, options string) *replay {
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12178 * ns, Payload: 1054, Hops: 1,
		Signals: cc.SignalDelay}
	a, err := specOf(t, "swift:ai=182B", "w_low=19028B"+options, 1).New(path)
	require.NoError(t, err)
	b := &replay{&bench{PrioPlus: a.(*PrioPlus), t: t, left: 1 << 40}}
	b.on(cc.Event{Kind: cc.POST})
	return b
}

func (b *replay) bytes() float64 { return 1054 * float64(b.inner.Cwnd()) }

func (b *replay) ack(oneWay units.Duration, rttEnd bool) {
	if rttEnd {
		b.una = b.rttEndSeq
	}
	b.una++
	b.sent = max(b.sent, b.una) + 19
	b.on(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1054, Delay: (oneWay + 6009) * ns})
}
