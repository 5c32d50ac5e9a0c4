package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// hpcc13 has T 13 us at 100 Gb/s, 162500 bytes, and W_AI 80 bytes.
func hpcc13(t testing.TB, more string) *HPCC {
	path := everything
	path.BaseRTT = 13 * us
	h := make1[*HPCC](t, "hpcc:eta=.95,ai=80B"+more, path)
	require.Equal(t, 162500.0, h.w)
	return h
}

// hop is a record of a port at 100 Gb/s.
func hop(ns, sent uint32, queue units.Bytes) Hop {
	return Hop{Port: 1, Rate: 100 * gbps, Time: ns, Sent: sent, Queue: queue}
}

// telemetry returns an ACK of everything before psn, with records.
func telemetry(psn uint32, hops ...Hop) *Event {
	return &Event{Kind: ACK, PSN: psn, SndNxt: psn + 100, Packets: 1, INT: hops}
}

func TestHPCCExample(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1, hop(1000, 5000, 32500)), at(1)) // until PSN 101
	require.Equal(t, 162500.0, h.w, "the first record is the reference only")
	h.On(telemetry(2, hop(2300, 21250, 40000)), at(2))
	assert.InDelta(t, 1.02, h.u, 1e-12)
	assert.InDelta(t, 151428.04, h.w, 0.01)
	assert.Equal(t, 162500.0, h.wc, "until the round trip ends")
	h.On(telemetry(3, hop(3600, 34250, 0)), at(3))
	assert.InDelta(t, 0.998, h.u, 1e-12)
	assert.InDelta(t, 154764.37, h.w, 0.01)
	h.On(telemetry(102, hop(4900, 47250, 0)), at(4))
	assert.Equal(t, h.w, h.wc)
	assert.Equal(t, Decision{Window: wholeBytes(h.w) + 999, Rate: rateOf(h.w, 13*us)}, h.decide(),
		"window and rate")
	assert.EqualValues(t, 1, h.Snapshot().Cuts[CutTelemetry])
}

func TestHPCCStages(t *testing.T) {
	for _, c := range []struct {
		stage int
		want  float64
		next  int
	}{{2, 100080, 3}, {5, 100000/(.9/.95) + 80, 0}} {
		h := hpcc13(t, "")
		h.wc, h.u, h.stage = 100000, 0.9, c.stage
		assert.Equal(t, c.next, h.computeWind())
		assert.InDelta(t, c.want, h.w, 0.01)
	}
}

// The hop with the highest utilisation counts, weighted by its own interval.
func TestHPCCLargestHop(t *testing.T) {
	h := hpcc13(t, "")
	a, b := hop(1000, 0, 0), hop(9000, 0, 0)
	b.Port = 2
	h.On(telemetry(1, a, b), at(1))
	a, b = hop(2300, 8125, 0), hop(11600, 26000, 0) // 0.5 and 0.8
	b.Port = 2
	h.On(telemetry(2, a, b), at(2))
	assert.InDelta(t, 0.8*1+0.2*0.8, h.u, 1e-12)
}

// The window stays below a BDP, and the rate follows.
func TestHPCCBounds(t *testing.T) {
	h := hpcc13(t, "")
	h.u = 1e-9
	h.computeWind()
	h.stage = 5
	h.computeWind()
	assert.Equal(t, 162500.0, h.w)
	h.u = 1e9
	h.wc = 200
	h.computeWind()
	assert.InDelta(t, 162.5, h.w, 1e-9)
	assert.Equal(t, 100*units.Mbps, h.decide().Rate)
}

// Errors of papers and public implementations, each avoided.

// A queue in only one of two records is noise of one sample.
func TestHPCCQueueOfOneSample(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1, hop(1000, 0, 0)), at(1))
	h.On(telemetry(2, hop(2300, 16250, 1e6)), at(2))
	assert.InDelta(t, 1, h.u, 1e-12)
}

// Two records with the same time have no rate between them.
func TestHPCCSameRecordTwice(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1, hop(1000, 0, 0)), at(1))
	h.On(telemetry(2, hop(1000, 0, 0)), at(2))
	assert.Equal(t, 1.0, h.u)
	assert.Equal(t, 162500.0, h.w)
	h.On(telemetry(3, hop(1000, 9000, 0)), at(3)) // even with different counters
	assert.Equal(t, 1.0, h.u)
	assert.Equal(t, 162500.0, h.w)
}

// Counters wrap around: differences are modulo their width.
func TestHPCCWraps(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1, hop(1<<32-1000, 1<<32-16000, 32500)), at(1))
	h.On(telemetry(2, hop(300, 250, 40000)), at(2))
	assert.InDelta(t, 1.02, h.u, 1e-12)
}

// After a gap in which a counter may have wrapped more than once, the first record is the new
// reference.
func TestHPCCAfterAGap(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1, hop(0, 0, 0)), at(1))
	h.On(telemetry(2, hop(200e6, 77, 1e6)), at(2)) // 2.5 GB at 100 Gb/s
	assert.Equal(t, 1.0, h.u)
	h.On(telemetry(3, hop(200e6+1300, 77+16250, 32500)), at(3))
	assert.InDelta(t, 0.9+0.1*1.2, h.u, 1e-12)
}

// A record of another path is a new reference.
func TestHPCCPathChange(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1, hop(1000, 0, 0)), at(1))
	other := hop(2300, 1e6, 1e6)
	other.Port = 9
	h.On(telemetry(2, other), at(2))
	assert.Equal(t, 1.0, h.u)
	h.On(telemetry(3, other, hop(1, 2, 3)), at(2))
	assert.Equal(t, 2, h.hops)
	assert.Equal(t, 1.0, h.u)
}

// maxStage 0 is always multiplicative; the default is the paper's 5.
func TestHPCCDefaultStages(t *testing.T) {
	assert.Equal(t, 5, hpcc13(t, "").maxStage)
	h := hpcc13(t, ",max_stage=0")
	h.u, h.wc = 0.5, 1000
	h.computeWind()
	assert.InDelta(t, 1980, h.w, 1e-9)
}

// U is initially 1: the first round trip only reduces the window to eta.
func TestHPCCFirstRoundTrip(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1, hop(1000, 0, 0)), at(1))
	h.On(telemetry(2, hop(2300, 16250, 0)), at(2))
	assert.InDelta(t, 162500*.95+80, h.w, 0.01)
}

// incStage counts round trips, not acknowledgements.
func TestHPCCStageCountsRoundTrips(t *testing.T) {
	h := hpcc13(t, "")
	h.u = 0.1
	for i := range uint32(50) {
		h.On(telemetry(i+1, hop(1000+1300*i, 1000*i, 0)), at(float64(i)))
	}
	assert.Zero(t, h.stage)
}

// A record that no switch writes is counted, and changes nothing.
func TestHPCCBadRecords(t *testing.T) {
	h := hpcc13(t, "")
	h.On(telemetry(1), at(1))
	h.On(telemetry(1, Hop{}), at(1))
	h.On(telemetry(1, make([]Hop, MaxHops+1)...), at(1))
	assert.EqualValues(t, 3, h.Snapshot().Ignored)
	assert.Zero(t, h.hops)
}
