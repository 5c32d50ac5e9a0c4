package prioplus

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

// plain is a path of 100 Gb/s and 12 us: BaseBdp is 150 packets of 1000 B, and a microsecond is
// 12.5 of them.
var plain = cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * us, Payload: 1000,
	Signals: cc.SignalDelay, Seed: 1}

// bench is a flow and the transport around it: packets of 1000 B, 10 MB left to send.
type bench struct {
	*PrioPlus
	t    testing.TB
	now  units.Time
	una  uint32
	sent uint32
	left units.Bytes
	d    cc.Decision
}

// flowOf returns a flow of Swift, or of another algorithm, with the priority of index i-1 of 8, and
// with data posted.
func flowOf(t testing.TB, inner, channels string, priority int) *bench {
	spec, err := cc.Parse(inner)
	require.NoError(t, err)
	ch, err := ParseChannels(channels)
	require.NoError(t, err)
	a, err := Spec{spec, ch, priority}.New(plain)
	require.NoError(t, err)
	b := &bench{PrioPlus: a.(*PrioPlus), t: t, now: units.Time(units.Millisecond), left: 10_000_000}
	b.d = b.Start(b.now)
	require.Equal(t, cc.Decision{}, b.d, "nothing is posted")
	b.on(cc.Event{Kind: cc.POST})
	return b
}

// fifth is the reference example: i = 5, D_target 32 us, D_limit 34.4 us, W_LS 18750 B, W_AI 150 B.
func fifth(t testing.TB) *bench { return flowOf(t, "swift", "w_middle=18.75pkt", 4) }

// sending returns fifth while it sends: cwnd 10000 B, #flow 1, and a round trip that has not ended.
func sending(t testing.TB) *bench {
	b := fifth(t)
	b.probed(20)
	b.inner.Resume(10, 20*us)
	b.sent = b.rttEndSeq
	b.rttEndSeq += 100
	return b
}

func (b *bench) on(ev cc.Event) {
	ev.SndNxt, ev.PSN, ev.Left = b.sent&0xffffff, b.una&0xffffff, b.left
	b.d = b.On(&ev, b.now)
}

// ack acknowledges one more packet, with a delay in microseconds.
func (b *bench) ack(delay float64) {
	b.una++
	b.sent = max(b.sent, b.una)
	b.on(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1000,
		Delay: units.Duration(delay * float64(us))})
}

// rttEnd delivers the acknowledgement that ends a round trip. The test decides what is sent
// afterwards.
func (b *bench) rttEnd(delay float64) {
	b.sent = max(b.sent, b.rttEndSeq)
	b.una = b.rttEndSeq
	b.sent += 20
	b.ack(delay)
}

// probed delivers the echo of a probe, for which a full packet would have taken so many
// microseconds.
func (b *bench) probed(delay float64) {
	b.on(cc.Event{Kind: cc.RTT, Probe: true,
		Delay: units.Duration(delay*float64(us)) - b.probeSaving})
}

func (b *bench) probeLost() { b.on(cc.Event{Kind: cc.RTO, Probe: true}) }

func (b *bench) bytes() float64 { return float64(b.inner.Cwnd()) * 1000 }
func (b *bench) wai() float64   { return float64(b.inner.AI()) * 1000 }

// probeWithin checks that the probe is scheduled in [from, to) microseconds.
func (b *bench) probeWithin(from, to float64) {
	b.t.Helper()
	require.True(b.t, b.stopped)
	require.Equal(b.t, cc.Decision{ProbeAt: b.probeAt}, b.d,
		"a stopped flow sends nothing but its probe")
	in := b.probeAt.Sub(b.now).Microseconds()
	require.GreaterOrEqual(b.t, in, from)
	require.Less(b.t, in, to)
}

// Rows 1 to 7 of the reference example.
func TestYieldAndResume(t *testing.T) {
	b := sending(t)
	b.ack(35)
	assert.False(t, b.stopped, "one sample beyond the limit is noise")
	assert.InDelta(t, 9314.29, b.bytes(), 0.01, "but Swift cuts: .8*(3/35)")
	b.ack(36)
	assert.InDelta(t, 48.313, b.nflow, 0.001)
	assert.InDelta(t, 3.1048, b.wai(), 0.0001)
	assert.EqualValues(t, 8, b.countDown)
	b.probeWithin(4, 16)

	b.probed(35)
	b.probeWithin(3, 15)

	b.probed(12.4)
	assert.InDelta(t, 388.095, b.bytes(), 0.001, "W_LS/#flow")
	assert.EqualValues(t, 7, b.countDown)
	assert.InDelta(t, 31.951, b.d.Rate.Duration(1000).Microseconds(), 0.001, "between packets")
	assert.EqualValues(t, 388, b.d.Window)
	assert.Zero(t, b.d.ProbeAt)

	b.ack(12.3)
	assert.InDelta(t, 391.200, b.bytes(), 0.001,
		"the first one ends no round trip: Swift's increase alone")
	b.ack(12.3)
	assert.InDelta(t, 782.400, b.bytes(), 0.001)
	assert.EqualValues(t, 6, b.countDown)

	for range 6 {
		b.rttEnd(12.3)
	}
	require.Zero(t, b.countDown)
	require.InDelta(t, 48.313, b.nflow, 0.001)
	for want := 48.313 / 2; want > 1; want /= 2 {
		before, step := b.bytes(), 18750/b.nflow
		b.rttEnd(12.3)
		assert.InDelta(t, want, b.nflow, 0.001, "halved")
		assert.GreaterOrEqual(t, b.bytes()-before, float64(step), "by what it was")
	}
	b.rttEnd(12.3)
	b.rttEnd(12.3)
	assert.EqualValues(t, 1, b.nflow, "never below 1")
}

func TestResumeWhileOthersSend(t *testing.T) {
	b := sending(t)
	b.ack(35)
	b.ack(36)
	b.probed(20)
	assert.InDelta(t, 1000, b.bytes(), 1e-9, "one packet")
	assert.EqualValues(t, 8, b.countDown)
	assert.InDelta(t, 48.313, b.nflow, 0.001)
}

// Rows 8 to 10.
func TestDualRTTAdaptiveIncrease(t *testing.T) {
	b := sending(t)
	require.False(t, b.dualRttPass)
	b.rttEnd(24)
	assert.True(t, b.dualRttPass)
	assert.InDelta(t, 3483.33, b.wai(), 0.01)
	assert.InDelta(t, 10348.33, b.bytes(), 0.01)
	for range 9 {
		b.ack(24)
	}
	assert.InDelta(t, 13061.8, b.bytes(), 0.1)
	for range 4 {
		b.ack(24)
	}
	assert.InDelta(t, 14097.7, b.bytes(), 0.1)
	b.rttEnd(24)
	assert.False(t, b.dualRttPass)
	assert.InDelta(t, 150, b.wai(), 1e-9, "no step in this round trip")

	b = sending(t)
	b.rttEnd(14)
	assert.InDelta(t, 150+5000, b.wai(), 1e-9, "half of cwnd at most")
}

// Without the dual-RTT rule every round trip applies a step (comparison of figure 10c).
func TestAdaptiveIncreaseEveryRoundTrip(t *testing.T) {
	b := sending(t)
	b.settings.dual = false
	for range 3 {
		b.inner.SetCwnd(10)
		b.rttEnd(24)
		assert.InDelta(t, 3483.33, b.wai(), 0.01)
	}
}

// Row 11.
func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name   string
		filter string
		delays []float64
		stops  bool
	}{
		{"two in a row", "2", []float64{35, 35}, true},
		{"one between", "2", []float64{35, 20, 35}, false},
		{"one at the target between", "2", []float64{35, 32, 35, 33, 35}, false},
		{"at the limit", "2", []float64{34.4, 34.4}, true},
		{"one", "1", []float64{34.4}, true},
		{"below", "1", []float64{34.399, 34.399, 34.399}, false},
		{"two of three", "3", []float64{35, 35, 20, 35, 35}, false},
		{"three of three", "3", []float64{35, 35, 35}, true},
	} {
		b := flowOf(t, "swift", "filter="+c.filter, 4)
		b.probed(20)
		b.inner.Resume(10, 20*us)
		b.rttEndSeq += 100
		for _, d := range c.delays {
			b.ack(d)
		}
		assert.Equal(t, c.stops, b.stopped, c.name)
	}
}

// The counter starts at 0 after a stop, in contrast to the artifact.
func TestFilterAfterResume(t *testing.T) {
	b := sending(t)
	b.ack(35)
	b.ack(35)
	require.True(t, b.stopped)
	b.probed(30)
	b.ack(35)
	assert.False(t, b.stopped)
}

func TestFlowStart(t *testing.T) {
	b := flowOf(t, "swift", "8", 3)
	b.probeWithin(0, 12)
	assert.Equal(t, cc.Stopped, b.Snapshot().Channel.State)

	b = flowOf(t, "swift", "8", 7)
	assert.False(t, b.stopped, "the highest starts without a probe")
	assert.InDelta(t, 150_000, b.bytes(), 1e-6, "at W_LS")
	assert.Equal(t, plain.LineRate, b.d.Rate, "paced over a round trip")
	assert.EqualValues(t, 150, b.rttEndSeq, "the first round trip ends with the second window")
	assert.Equal(t, cc.Starting, b.Snapshot().Channel.State)

	b = flowOf(t, "swift", "direct=0", 7)
	b.probeWithin(0, 12)
}

// A resumed flow spreads its first window over a round trip, and every further one until there is a
// queue.
func TestLinearStartIsPaced(t *testing.T) {
	b := flowOf(t, "swift", "8", 0)
	b.probed(12)
	assert.EqualValues(t, 18750, b.d.Window)
	assert.InDelta(t, 12, b.d.Rate.Duration(18750).Microseconds(), 1e-3)
	b.rttEnd(12)
	assert.Equal(t, units.Bytes(2*18750+4), b.d.Window, "and Swift's own")
	assert.InDelta(t, 12, b.d.Rate.Duration(b.d.Window).Microseconds(), 1e-3)
	b.rttEnd(14)
	assert.Zero(t, b.d.Rate)
	assert.Equal(t, cc.Sending, b.Snapshot().Channel.State)
}

// When nothing is left to send, no probe is sent. Data posted later starts a new flow when what the
// flow knew of the queue is outdated.
func TestIdle(t *testing.T) {
	b := sending(t)
	b.left = 0
	b.ack(20)
	window := b.d.Window
	assert.Equal(t, cc.Resting, b.Snapshot().Channel.State)
	b.now = b.now.Add(40 * us)
	b.left = 5000
	b.on(cc.Event{Kind: cc.POST})
	assert.Equal(t, window, b.d.Window, "continues")

	b.left = 0
	b.ack(20)
	b.now = b.now.Add(48 * us)
	b.left = 5000
	b.on(cc.Event{Kind: cc.POST})
	b.probeWithin(0, 12)

	b.left = 0
	b.ack(20)
	assert.Zero(t, b.d, "the probe is cancelled")
	b.probed(12)
	assert.Zero(t, b.d, "and its echo does nothing")
	b.left = 5000
	b.on(cc.Event{Kind: cc.POST})
	b.probeWithin(0, 12)
}

func TestHighFlowStopsAndStartsAnew(t *testing.T) {
	b := flowOf(t, "swift", "8", 7)
	b.ack(50)
	b.ack(50)
	require.True(t, b.stopped)
	b.left = 0
	b.ack(50)
	require.Zero(t, b.d)
	b.left = 1000
	b.on(cc.Event{Kind: cc.POST})
	b.probeWithin(0, 12) // the queue was full a moment ago
	b.left = 0
	b.ack(50)
	b.now = b.now.Add(48 * us)
	b.left = 1000
	flows := b.nflow
	b.on(cc.Event{Kind: cc.POST})
	assert.False(t, b.stopped)
	assert.Equal(t, flows, b.nflow, "is kept")
	assert.InDelta(t, 150_000/float64(flows), b.bytes(), 1e-3)
}

// While a flow is stopped, acknowledgements do not change the timer, and a late echo has no effect.
func TestStopped(t *testing.T) {
	b := sending(t)
	b.ack(35)
	b.ack(36)
	stopped, cwnd := b.flow, b.bytes()
	for _, delay := range []float64{50, 35, 20, 12} {
		b.ack(delay)
		assert.Equal(t, stopped, b.flow)
		assert.InDelta(t, cwnd, b.bytes(), 0)
	}
	b.probed(20)
	require.False(t, b.stopped)
	sends := b.flow
	b.probed(50)
	assert.Equal(t, sends, b.flow, "a late echo has no effect")
}

func TestLostProbe(t *testing.T) {
	b := fifth(t)
	for range 100 {
		before := b.probeAt
		b.now = b.now.Add(100 * us)
		b.probeLost()
		assert.NotEqual(t, before, b.probeAt)
		b.probeWithin(0, 12)
	}
}

// Timeouts of data belong to the original CC. Below a tenth of a packet the flow stops, and #flow
// does not change.
func TestFloor(t *testing.T) {
	b := sending(t)
	flows, rounds := b.nflow, b.countDown
	for range 5 {
		b.on(cc.Event{Kind: cc.RTO})
	}
	b.probeWithin(0, 12)
	assert.Equal(t, flows, b.nflow)
	assert.Equal(t, rounds, b.countDown)
	assert.EqualValues(t, 1, b.Snapshot().Cuts[cc.Yielded])
}

// The least window is not tested on a resume: with W_LS/#flow below it a flow would never send
// again.
func TestFloorDoesNotStopAResume(t *testing.T) {
	b := sending(t)
	b.nflow = 1000
	b.ack(35)
	b.ack(35)
	b.probed(12)
	assert.False(t, b.stopped)
	assert.InDelta(t, 100, b.bytes(), 1e-9)
	b.ack(20)
	assert.False(t, b.stopped)
}

// Impossible values are not samples: they neither stop a flow nor end a round trip.
func TestNoSample(t *testing.T) {
	b := sending(t)
	b.ack(35)
	for _, ev := range []cc.Event{
		{Kind: cc.ACK, Packets: 1, Bytes: 1000},
		{Kind: cc.RTT, Packets: 1, Bytes: 1000, Delay: -1},
		{Kind: cc.RTT, Packets: 1, Bytes: 1000, Delay: 2 * units.Second},
		{Kind: cc.RTT, Packets: 1, Bytes: 1000, Delay: 50 * us, Endpoint: 60 * us},
		{Kind: cc.RTT, Delay: 50 * us}, // a duplicate
	} {
		b.on(ev)
		assert.False(t, b.stopped, "%+v", ev)
	}
	b.ack(35)
	assert.True(t, b.stopped)
}

// The hosts' part of a delay does not count as a queue.
func TestEndpointDelay(t *testing.T) {
	path := plain
	path.Signals |= cc.SignalEndpoint
	spec, _ := cc.Parse("swift")
	a, err := Spec{Inner: spec, Priority: 4}.New(path)
	require.NoError(t, err)
	b := &bench{PrioPlus: a.(*PrioPlus), t: t, left: 1000}
	b.on(cc.Event{Kind: cc.POST})
	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: 42 * us, Endpoint: 30 * us})
	assert.False(t, b.stopped)
	for range 5 {
		b.on(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1000, Delay: 62 * us, Endpoint: 30 * us})
	}
	assert.False(t, b.stopped)
	for range 2 {
		b.on(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1000, Delay: 65 * us, Endpoint: 30 * us})
	}
	assert.True(t, b.stopped)
}

// A delay below the base means that a clock or a route has changed, and counts as empty queues.
func TestDelayBelowBase(t *testing.T) {
	b := sending(t)
	b.rttEnd(1)
	assert.InDelta(t, 10_000+18_750+150*1000/28750., b.bytes(), 1)
	assert.InDelta(t, 150, b.wai(), 1e-9)
}

// A stop ends the adaptive increase: nothing of it remains after the resume.
func TestStopEndsAdaptiveIncrease(t *testing.T) {
	b := sending(t)
	b.rttEnd(24)
	require.Greater(t, b.wai(), 3000.0)
	b.ack(35)
	b.ack(35)
	b.probed(20)
	assert.InDelta(t, 150/b.nflow, b.wai(), 1e-4)
	assert.False(t, b.dualRttPass)
}

// PSNs wrap around.
func TestRoundTripsAcrossTheWrap(t *testing.T) {
	b := fifth(t)
	b.una, b.sent = 0xfffff0, 0xfffff0
	b.probed(12.4)
	ends := 0
	for range 100 {
		b.countDown = 100
		b.sent = b.una + 20
		b.ack(12.4)
		ends += int(100 - b.countDown)
	}
	assert.Equal(t, 5, ends, "of 100 packets, 20 in flight")
}

// The state of one flow must be small where there are ten thousand.
func TestStateIsSmall(t *testing.T) {
	size := unsafe.Sizeof(flow{})
	t.Logf("%d bytes", size)
	assert.LessOrEqual(t, size, uintptr(48))
}

// With LEDBAT as the original CC the channel and the rules are the same.
func TestLEDBATInside(t *testing.T) {
	b := flowOf(t, "ledbat-dc", "8", 4)
	b.probed(20)
	b.inner.Resume(10, 20*us)
	b.rttEndSeq += 100
	b.ack(22)
	assert.InDelta(t, 10_050, b.bytes(), 1e-6, "half of the way to the target of 20 us of queue")
	b.ack(35)
	assert.False(t, b.stopped)
	b.ack(36)
	assert.InDelta(t, 36*12.5/10.1, float64(b.nflow), 1)
	assert.True(t, b.stopped)
	b.probed(12)
	b.rttEnd(12)
	assert.False(t, b.stopped)
	assert.InDelta(t, 1/float64(b.nflow), float64(b.inner.AI()), 1e-6, "gain 1, over #flow")
}

// A guessed line rate does not limit a linear start.
func TestNoPaceOfAGuess(t *testing.T) {
	b := fifth(t)
	b.probed(12)
	b.delay = plain.BaseRTT
	bdp := plain.BDP()
	assert.Equal(t, plain.LineRate, b.pace(2*bdp))
	assert.NotZero(t, b.pace(bdp/2))
	b.path.Guessed = true
	assert.Zero(t, b.pace(2*bdp))
	assert.NotZero(t, b.pace(bdp/2))
}
