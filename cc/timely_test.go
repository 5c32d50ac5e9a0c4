package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// timely10 has a rate of 10 Gb/s of 100.
func timely10(t testing.TB, more string) *TIMELY {
	a := make1[*TIMELY](t, "timely:min_rtt=20us,t_low=50us,t_high=500us,delta=10Mb/s"+more,
		everything)
	a.rate = 10e9
	return a
}

// micros delivers a sample of a round trip, in microseconds.
func (t *TIMELY) micros(rtt float64) {
	d := units.Duration(rtt * float64(us))
	t.update(d, d, 1, 0)
}

func TestTIMELYExample(t *testing.T) {
	a := timely10(t, "")
	a.micros(60)
	assert.Equal(t, 10e9, a.rate, "the first sample has no difference")
	a.micros(64)
	assert.InDelta(t, 3.5, a.diff/float64(us), 1e-9)
	assert.InDelta(t, 8.6e9, a.rate, 1)

	a.rate = 10e9
	a.micros(600)
	assert.InDelta(t, 8.6667e9, a.rate, 1e5)
	a.rate = 10e9
	a.micros(40)
	assert.InDelta(t, 10.01e9, a.rate, 1)
}

func TestTIMELYHyperactiveIncrease(t *testing.T) {
	a := timely10(t, "")
	a.micros(65)
	want := 10e9
	for i, rtt := range []float64{64, 63, 62, 61, 60, 59} {
		if want += 10e6; i >= 4 {
			want += 40e6
		}
		a.micros(rtt)
		assert.InDelta(t, want, a.rate, 1, "sample %d", i+1)
	}
	a.micros(70) // any other branch restarts the count
	a.micros(69)
	assert.LessOrEqual(t, a.flat, 1)
}

// One update a round trip: until a packet sent after the last update is acknowledged.
func TestTIMELYUpdatesOnceInARoundTrip(t *testing.T) {
	a := timely10(t, "")
	sample := func(psn uint32, delay units.Duration) {
		a.On(&Event{Kind: RTT, PSN: psn, SndNxt: psn + 10, Delay: delay, Packets: 1}, 0)
	}
	sample(1, 20*us) // until PSN 11
	sample(5, 20*us)
	assert.Equal(t, 10e9, a.rate)
	sample(12, 20*us)
	assert.InDelta(t, 10.01e9, a.rate, 1)
	sample(13, 20*us)
	assert.InDelta(t, 10.01e9, a.rate, 1)
}

// With per_ack an update counts as the fraction of a round trip that has passed.
func TestTIMELYPerAck(t *testing.T) {
	a := timely10(t, ",per_ack=on")
	a.On(rtt(20*us, 1), at(100))
	a.On(rtt(20*us, 1), at(105))
	assert.InDelta(t, 10e9+10e6/4, a.rate, 1)
	a.On(rtt(20*us, 1), at(205))
	assert.InDelta(t, 10e9+10e6*5/4, a.rate, 1)
}

func TestTIMELYTimeout(t *testing.T) {
	a := timely10(t, "")
	a.On(&Event{Kind: RTO}, at(1))
	assert.InDelta(t, 6e9, a.rate, 1)
	a.On(&Event{Kind: RTO}, at(2))
	assert.InDelta(t, 6e9, a.rate, 1, "once a round trip")
	assert.EqualValues(t, 1, a.Snapshot().Cuts[CutTimeout])
}

// Patched TIMELY has a fixed point: at T_low with a constant queue it neither gains nor loses more
// than half a step, and the further beyond, the harder the cut.
func TestTIMELYPatched(t *testing.T) {
	a := timely10(t, ",patched=on")
	a.micros(60)
	a.micros(60)
	assert.InDelta(t, 10e9*(1-0.8*0.5*0.2)+10e6*0.5, a.rate, 1)
	a.rate, a.diff, a.prev, a.prevMost = 10e9, 0, 400*us, 400*us
	a.micros(400)
	assert.InDelta(t, 5e9, a.rate, 1, "never below half")
}

// Errors of papers and public implementations, each avoided.

// One cuts by 1 - beta·T_high/rtt: 80 % just above T_high, where the right cut is about none.
func TestTIMELYCutJustAboveTHigh(t *testing.T) {
	a := timely10(t, "")
	a.micros(500)
	a.micros(501)
	assert.InDelta(t, 10e9*(1-0.8*(1-500.0/501)), a.rate, 1)
}

// Some configurations have T_low above T_high.
func TestTIMELYThresholdsInverted(t *testing.T) {
	_, err := Parse("timely:t_low=32us,t_high=16us")
	assert.ErrorContains(t, err, "t_low=32us is more than t_high=16us")
}

// alpha is the weight of the new sample, and 1-alpha that of the old value.
func TestTIMELYWeightOfTheNewSample(t *testing.T) {
	a := timely10(t, "")
	a.diff, a.prev, a.prevMost = 8*float64(us), 60*us, 60*us
	a.micros(60)
	assert.InDelta(t, 1, a.diff/float64(us), 1e-9)
}

// One counts increases below T_low toward the larger steps, and takes larger steps there.
func TestTIMELYNoHyperactiveIncreaseBelowTLow(t *testing.T) {
	a := timely10(t, "")
	for range 21 {
		a.micros(40)
	}
	assert.InDelta(t, 10.2e9, a.rate, 1)
	a.micros(51) // the first sample of that branch counts separately
	a.diff, a.flat = 0, 0
	a.micros(51)
	assert.Equal(t, 1, a.flat)
}

// 50 us is more than a whole round trip of a fast fabric: the thresholds scale with the path.
func TestTIMELYThresholdsScale(t *testing.T) {
	a := make1[*TIMELY](t, "timely", everything)
	assert.Equal(t, 24*us, a.tLow)
	assert.Equal(t, 240*us, a.tHigh)
	assert.Equal(t, everything.BaseRTT, a.minRTT)
}

// A gradient beyond 1/beta would make the rate negative.
func TestTIMELYRateIsNeverNegative(t *testing.T) {
	a := timely10(t, "")
	a.micros(60)
	a.micros(400)
	assert.EqualValues(t, a.minRate, a.rate)
}
