package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

const swiftExample = "swift:base_target=25us,per_hop=1us,fs_range=100us,fs_min=.1,fs_max=100," +
	"ai=1,beta=.8,max_mdf=.5"

// swift40 has a target of 40 us, whatever the window.
func swift40(t testing.TB, cwnd float64) *Swift {
	s := make1[*Swift](t, "swift:base_target=40us,per_hop=0s,fs_range=0s", plain4)
	s.fabric.cwnd = cwnd
	return s
}

// plain4 is a path that does not report the hosts' part of the delay.
var plain4 = Path{LineRate: 100 * gbps, BaseRTT: 40 * us, Payload: 1000, Signals: SignalDelay}

func TestSwiftTarget(t *testing.T) {
	s := make1[*Swift](t, swiftExample, everything)
	assert.InDelta(t, 32.6554, s.alpha/float64(us), 1e-4)
	assert.InDelta(t, -3.26554, s.beta/float64(us), 1e-5)
	assert.InDelta(t, 42.0622, s.targetDelay(4, 4).Microseconds(), 1e-4)
	for _, c := range []struct{ cwnd, bonus float64 }{
		{0.05, 100}, {0.1, 100}, {0.5, 42.9162}, {1, 29.3899}, {100, 0}, {200, 0},
	} {
		assert.InDelta(t, 25+c.bonus, s.targetDelay(c.cwnd, 0).Microseconds(), 1e-4, "window %v",
			c.cwnd)
	}
}

func TestSwiftExample(t *testing.T) {
	for _, c := range []struct {
		name string
		cwnd float64
		ack  *Event
		want float64
	}{
		{"below target", 10, rtt(30*us, 2), 10.2},
		{"below target, less than a packet", 0.5, rtt(30*us, 1), 1.5},
		{"beyond target", 10, rtt(50*us, 1), 8.4},
		{"far beyond target", 10, rtt(200*us, 1), 5},
		{"at target", 10, rtt(40*us, 1), 10},
		{"duplicate below target", 10, rtt(30*us, 0), 10},
		{"duplicate beyond target", 10, rtt(50*us, 0), 8.4},
	} {
		s := swift40(t, c.cwnd)
		s.On(c.ack, at(100))
		assert.InDelta(t, c.want, s.fabric.cwnd, 1e-9, c.name)
	}
}

func TestSwiftCutsOnceInARoundTrip(t *testing.T) {
	s := swift40(t, 10)
	s.On(rtt(50*us, 1), at(100))
	require.InDelta(t, 8.4, s.fabric.cwnd, 1e-9)
	s.On(rtt(60*us, 1), at(120))
	assert.InDelta(t, 8.4, s.fabric.cwnd, 1e-9)
	s.On(rtt(60*us, 1), at(152)) // srtt is 52.1 us by now
	assert.InDelta(t, 8.4, s.fabric.cwnd, 1e-9)
	s.On(rtt(80*us, 1), at(160))
	assert.InDelta(t, 8.4*(1-0.8*40/80), s.fabric.cwnd, 1e-9)
	assert.EqualValues(t, 2, s.Snapshot().Cuts[CutDelay])
}

func TestSwiftPacesBelowOnePacket(t *testing.T) {
	s := swift40(t, 0.25)
	assert.Equal(t, Decision{Window: 250, Rate: 50 * units.Mbps}, s.decide(), "one in 160 us")
	s.fabric.cwnd = 1
	assert.Equal(t, Decision{Window: 1000}, s.decide())
	s.fabric.cwnd = 0.001
	assert.Equal(t, Decision{Window: 1, Rate: 200 * units.Kbps}, s.decide(), "one in 40 ms")
	s.srtt.value = 10 * units.Millisecond
	assert.Equal(t, Decision{Window: 1, Rate: 200 * units.Kbps}, s.decide(),
		"however long round trips are")
	s.fabric.cwnd = 0.25
	assert.Equal(t, Decision{Window: 250, Rate: units.Mbps}, s.decide(), "0.00001 of line rate")
}

func TestSwiftTimeouts(t *testing.T) {
	s := swift40(t, 10)
	now := at(1000)
	timeout := func(want float64) {
		t.Helper()
		s.On(&Event{Kind: RTO}, now)
		assert.InDelta(t, want, s.fabric.cwnd, 1e-9)
	}
	timeout(5)
	require.Equal(t, 1, s.retransmits)
	timeout(5) // in the same round trip
	now = now.Add(50 * us)
	timeout(2.5)
	timeout(2.5)
	timeout(0.001) // the fifth in a row, whatever the cooldown
	assert.Equal(t, CutTimeout, s.Snapshot().Reason)

	s.On(&Event{Kind: ACK, Packets: 1}, now)
	s.fabric.cwnd = 10
	now = now.Add(50 * us)
	timeout(5)
}

func TestSwiftFastRecovery(t *testing.T) {
	s := swift40(t, 10)
	s.On(&Event{Kind: OOO}, at(1000))
	assert.InDelta(t, 5, s.fabric.cwnd, 1e-9)
	s.On(&Event{Kind: OOO}, at(1001))
	assert.InDelta(t, 5, s.fabric.cwnd, 1e-9)
	assert.EqualValues(t, 1, s.Snapshot().Cuts[CutLoss])
}

// The smaller of the two windows applies, and each has a target of its own.
func TestSwiftEndpointWindow(t *testing.T) {
	s := make1[*Swift](t,
		"swift:base_target=40us,per_hop=0s,fs_range=0s,endpoint_target=20us,init_cwnd=10",
		everything)
	ev := rtt(70*us, 1)
	ev.Endpoint = 40 * us
	d := s.On(ev, at(100))
	assert.InDelta(t, 10.1, s.fabric.cwnd, 1e-9, "30 us of fabric are below target")
	assert.InDelta(t, 6, s.endpoint.cwnd, 1e-9, "10·(1-0.8·20/40)")
	assert.Equal(t, units.Bytes(6000), d.Window)
	assert.Equal(t, CutEndpoint, s.Snapshot().Reason)

	whole := make1[*Swift](t, "swift:base_target=40us,per_hop=0s,fs_range=0s,init_cwnd=10", plain4)
	whole.On(rtt(70*us, 1), at(100))
	assert.InDelta(t, 10*(1-0.8*30/70), whole.fabric.cwnd, 1e-9,
		"all of the delay counts as the fabric's")
}

// Where the path reports hops, each adds to the target; 0 stands for the path's configured number.
func TestSwiftTopologyScaling(t *testing.T) {
	path := everything
	path.Hops = 3
	s := make1[*Swift](t, "swift:base_target=40us,fs_range=0s", path)
	ev := rtt(10*us, 1)
	s.On(ev, at(1))
	assert.Equal(t, 43*us, s.Snapshot().Target)
	ev.Hops = 5
	s.On(ev, at(2))
	assert.Equal(t, 45*us, s.Snapshot().Target)
}

// Errors of papers and public implementations, each avoided.

// One stores beta_s negative and then subtracts it: the bonus would be 2·alpha/sqrt(fs_max) too
// large, and never 0.
func TestSwiftSignOfBeta(t *testing.T) {
	s := make1[*Swift](t, swiftExample, everything)
	assert.Less(t, s.beta, 0.0)
	assert.Equal(t, 25*us, s.targetDelay(100, 0))
}

// One divides bytes by the segment size in integers, inside the square root: 1.9 packets would
// count as 1, and less than one as none.
func TestSwiftFractionsOfPackets(t *testing.T) {
	s := make1[*Swift](t, swiftExample, everything)
	assert.Less(t, s.targetDelay(1.9, 0), s.targetDelay(1, 0))
	assert.Less(t, s.targetDelay(0.9, 0), s.targetDelay(0.5, 0))
	// Another rounds (cwnd+pkt-1)/pkt in floating point: nearly a packet too much in small windows.
	assert.InDelta(t, 25+32.6554/0.70711-3.2655, s.targetDelay(0.5, 0).Microseconds(), 1e-3)
}

// One takes fs_min as a part of the BDP: then the bonus would depend on the path.
func TestSwiftScalesByPackets(t *testing.T) {
	long := everything
	long.BaseRTT *= 10
	a, b := make1[*Swift](t, swiftExample, everything), make1[*Swift](t, swiftExample, long)
	assert.Equal(t, a.targetDelay(5, 0), b.targetDelay(5, 0))
}

// With "<=" in the test for a decrease every ACK of a window that cannot move restarts the
// cooldown, and cuts never come.
func TestSwiftStuckWindowDoesNotShutTheGate(t *testing.T) {
	s := swift40(t, 640) // max_cwnd is 16 BDP of 500 packets
	s.maxCwnd = 640
	for now := 100.0; now < 200; now++ {
		s.On(rtt(30*us, 1), at(now))
	}
	require.Equal(t, 640.0, s.fabric.cwnd)
	s.On(rtt(80*us, 1), at(200))
	assert.InDelta(t, 640*0.6, s.fabric.cwnd, 1e-9)
	s.On(rtt(80*us, 1), at(210)) // within the cooldown, which it does not extend
	s.On(rtt(80*us, 1), at(260))
	assert.InDelta(t, 640*0.36, s.fabric.cwnd, 1e-9)
}

// Printed elsewhere: max(beta·(d-T)/T, max_mdf). The cut is the minimum, relative to the delay.
func TestSwiftCutIsOfTheDelayAndCapped(t *testing.T) {
	s := swift40(t, 10)
	s.On(rtt(44*us, 1), at(100))
	assert.InDelta(t, 10*(1-0.8*4/44), s.fabric.cwnd, 1e-9)
}

// The cooldown is one smoothed round trip, not the last sample nor the delay that caused the cut.
func TestSwiftGateIsTheSmoothedRoundTrip(t *testing.T) {
	s := swift40(t, 10)
	s.srtt = ewma{40 * us, true}
	s.On(rtt(200*us, 1), at(1000)) // srtt 60 us
	require.InDelta(t, 5, s.fabric.cwnd, 1e-9)
	s.On(rtt(50*us, 1), at(1059)) // srtt 58.75 us
	assert.InDelta(t, 4.2, s.fabric.cwnd, 1e-9)
}

// One coalesced ACK of five packets counts as five packets.
func TestSwiftCountsPacketsNotAcks(t *testing.T) {
	s := swift40(t, 10)
	s.On(rtt(30*us, 5), at(100))
	assert.InDelta(t, 10.5, s.fabric.cwnd, 1e-9)
}

// Packets acknowledged without a sample count as much, at the next sample, which determines the
// state of the path.
func TestSwiftAckWithoutSampleCountsLater(t *testing.T) {
	s := swift40(t, 10)
	s.On(&Event{Kind: ACK, Packets: 4}, at(99))
	assert.Equal(t, 10.0, s.fabric.cwnd)
	s.On(rtt(30*us, 1), at(100))
	assert.InDelta(t, 10.5, s.fabric.cwnd, 1e-9)
}
