package hostcc

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

func at(n int) units.Time { return units.Time(units.Duration(n) * us) }

// A worked example of smoothing.
func TestSmoothing(t *testing.T) {
	h := New(Config{})
	h.occupancy = 65 * fixedPoint
	var got []uint64
	var congested []bool
	for range 4 {
		h.SampleOccupancy(80)
		got = append(got, h.occupancy/fixedPoint)
		congested = append(congested, h.Congested())
	}
	assert.Equal(t, []uint64{66, 68, 69, 71}, got)
	assert.Equal(t, []bool{false, false, false, true}, congested)
	before := h.occupancy
	h.SampleOccupancy(8)
	assert.Equal(t, before, h.occupancy, "small samples are ignored")
	h.bandwidth = 90 * fixedPoint
	for range 3 {
		h.SampleBandwidth(60)
	}
	assert.EqualValues(t, 91800, h.bandwidth)
	h.SampleBandwidth(150)
	assert.EqualValues(t, 91800, h.bandwidth, "implausible samples are ignored")
	h.SampleBandwidth(149)
	assert.Greater(t, h.bandwidth, uint64(91800))
	h.Bandwidth = 336 * units.Gbps
	before = h.bandwidth
	h.SampleBandwidth(600)
	assert.Equal(t, before, h.bandwidth)
	h.SampleBandwidth(599)
	assert.Greater(t, h.bandwidth, before, "plausible at four times the target")
}

func TestLevels(t *testing.T) {
	h := New(Config{})
	h.occupancy, h.bandwidth = 90*fixedPoint, 60*fixedPoint
	var up []int
	for now := range 5 {
		up = append(up, h.Level(at(now)))
	}
	assert.Equal(t, []int{1, 2, 3, 4, 4}, up)
	h.occupancy, h.bandwidth = 50*fixedPoint, 90*fixedPoint
	lowered := map[int]int{}
	for now := 10; now <= 500; now += 10 {
		level := h.Level(at(now))
		if _, known := lowered[level]; !known {
			lowered[level] = now
		}
	}
	assert.Equal(t, map[int]int{3: 10, 2: 160, 1: 310, 0: 460}, lowered)
	// no demand; no congestion; at the thresholds
	for _, c := range [][2]uint64{{60, 50}, {90, 90}, {84, 90}, {90, 70}} {
		h.level, h.bandwidth, h.occupancy = 2, c[0]*fixedPoint, c[1]*fixedPoint
		assert.Equal(t, 2, h.Level(at(10_000)))
	}
}

// throttle is an actuator that records the levels.
type throttle struct {
	levels []int
	fail   bool
}

func (*throttle) Levels() int { return 5 }
func (a *throttle) SetLevel(level int) error {
	if a.fail {
		return errors.New("stuck")
	}
	a.levels = append(a.levels, level)
	return nil
}

// The sampler throttles a congested host and reports the congestion; failures of the actuator are
// counted.
func TestSamplerThrottles(t *testing.T) {
	h, a := New(Config{}), &throttle{}
	occupancy, bandwidth, ok := 200.0, 60.0, true
	s := h.Sampler(func(units.Time) (float64, bool) {
		return occupancy, ok
	}, func(units.Time) (float64, bool) { return bandwidth, ok }, a)
	v, some := s(at(0))
	assert.Equal(t, [2]any{0.0, true}, [2]any{v, some}, "25 lines, smoothed")
	for now := 1; now < 20; now++ {
		v, _ = s(at(now))
	}
	assert.Equal(t, 1.0, v)
	assert.Equal(t, []int{1, 2, 3, 4}, a.levels, "set only when it changes")
	occupancy, bandwidth = 20, 100
	for now := 20; now < 20_000; now++ {
		v, _ = s(at(now))
	}
	assert.Zero(t, v)
	assert.Equal(t, []int{1, 2, 3, 4, 3, 2, 1, 0}, a.levels)
	a.fail, occupancy, bandwidth = true, 1000, 0
	for now := 20_000; now < 22_000; now++ {
		s(at(now))
	}
	assert.NotZero(t, h.Failures())
	ok = false
	_, some = s(at(30_000))
	assert.False(t, some)
}

// An algorithm that reacts to marks reacts to a congested host, through the agent.
func TestHostCongestionIsReportedAsMarks(t *testing.T) {
	c, err := nicoffload.NewShared(nicoffload.Config{}, nicoffload.AgentConfig{}, nil, 0)
	require.NoError(t, err)
	spec, err := cc.Parse("idctcp")
	require.NoError(t, err)
	inner, err := spec.New(cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * us, Payload: 4096,
		Signals: cc.SignalMarks})
	require.NoError(t, err)
	f := c.Add(WithMarks(inner), 0)
	congested := 0.0
	_, err = c.Agent().Sample(SamplerName, 2*us, func(units.Time) (float64, bool) {
		return congested, true
	}, 0)
	require.NoError(t, err)
	window := func(from, to int) units.Bytes {
		for now := from; now < to; now++ {
			c.Report(&cc.Event{Kind: cc.ACK, Flow: f, Packets: 2, Bytes: 8192}, at(now))
			c.Poll(at(now))
		}
		d, _ := c.Decision(f)
		return d.Window
	}
	calm := window(0, 100)
	congested = 1
	cut := window(100, 400)
	assert.Less(t, cut, calm/2)
	congested = 0
	assert.Greater(t, window(400, 800), cut)
	assert.NotZero(t, c.Snapshot(f).Cuts[cc.CutMark])
}

func TestWithMarksForwards(t *testing.T) {
	spec, err := cc.Parse("hpcc")
	require.NoError(t, err)
	inner, err := spec.New(cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * us, Payload: 4096,
		Hops: 3, Signals: cc.SignalINT})
	require.NoError(t, err)
	a := WithMarks(inner)
	assert.Equal(t, inner.Events()|cc.Events(cc.HOST), a.Events())
	assert.Equal(t, 3, a.(cc.Telemeter).Telemetry())
	assert.Equal(t, inner.(cc.Starter).Start(0), a.(cc.Starter).Start(0))
	assert.Equal(t, inner.(cc.Observable).Snapshot(), a.(cc.Observable).Snapshot())
	first := a.(cc.Starter).Start(0)
	assert.Equal(t, first, a.On(&cc.Event{Kind: cc.HOST, Host: cc.HostSample{Value: 1}}, 0),
		"a HOST event changes no decision")
}
