package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

var cnp = &Event{Kind: CNP}

// dcqcn100 has R_AI of 0.04 Gb/s of 100 Gb/s.
func dcqcn100(t testing.TB, more string) *DCQCN {
	return make1[*DCQCN](t, "dcqcn:ai=40Mb/s,hai=1Gb/s"+more, everything)
}

// tick fires the rate timer.
func (d *DCQCN) tick() {
	d.t++
	d.increase()
}

func TestDCQCNExample(t *testing.T) {
	d := dcqcn100(t, "")
	now := at(10)
	d.On(cnp, now)
	assert.Equal(t, 100e9, d.rt)
	assert.Equal(t, 50e9, d.rc)
	assert.Equal(t, 1.0, d.alpha)
	for i, alpha := range []float64{.99609375, .99220276} {
		dec := d.decide(now)
		require.Equal(t, now.Add(55*us), dec.WakeAt)
		now = dec.WakeAt
		d.On(&Event{Kind: TIMER}, now)
		assert.InDelta(t, alpha, d.alpha, 1e-8, "period %d", i+1)
	}

	d = dcqcn100(t, "")
	d.rc, d.rt = 40e9, 80e9
	d.On(cnp, now)
	assert.Equal(t, 40e9, d.rt)
	assert.Equal(t, 20e9, d.rc)
	for _, want := range []float64{30e9, 35e9, 37.5e9, 38.75e9, 39.375e9} {
		d.tick()
		assert.Equal(t, want, d.rc, "recovery %d", d.t)
	}
	d.tick()
	assert.Equal(t, 40.04e9, d.rt)
	assert.Equal(t, 39.7075e9, d.rc)
	d.bc = 8
	d.tick()
	assert.InDelta(t, 42.04e9, d.rt, 1, "hyper, twice: T 7 and BC 8 are 2 and 3 beyond F")
}

// The byte counter counts as much as the timer, and the excess is carried over.
func TestDCQCNByteCounter(t *testing.T) {
	d := dcqcn100(t, ",byte_counter=10KB")
	d.On(&Event{Kind: TX, Bytes: 15000}, at(1))
	assert.Zero(t, d.bytes, "off before the first CNP")
	d.On(cnp, at(2))
	d.On(&Event{Kind: TX, Bytes: 15000}, at(3))
	assert.Equal(t, 1, d.bc)
	assert.Equal(t, 75e9, d.rc)
	d.On(&Event{Kind: TX, Bytes: 25000}, at(3))
	assert.Equal(t, 4, d.bc)
	assert.Zero(t, d.bytes)
}

// At line rate all timers stop until the next CNP.
func TestDCQCNStopsAtLineRate(t *testing.T) {
	d := dcqcn100(t, "")
	assert.Zero(t, d.Start(0).WakeAt)
	now := at(1)
	dec := d.On(cnp, now)
	for n := 0; dec.WakeAt != 0; n++ {
		require.Less(t, n, 100)
		now = dec.WakeAt
		dec = d.On(&Event{Kind: TIMER}, now)
	}
	assert.Equal(t, 100*gbps, dec.Rate)
	assert.Equal(t, dec, d.On(&Event{Kind: TIMER}, now.Add(us)), "a timer from before")
}

func TestDCQCNTimeoutIsACNP(t *testing.T) {
	d := dcqcn100(t, "")
	d.On(&Event{Kind: RTO}, at(1))
	assert.Equal(t, 50e9, d.rc)
	assert.Equal(t, CutTimeout, d.Snapshot().Reason)
}

// Errors of papers and public implementations, each avoided.

// alpha is initially 1, so that the first cut halves the rate; a cut uses the old alpha, which is
// then raised.
func TestDCQCNCutsWithTheOldAlpha(t *testing.T) {
	d := dcqcn100(t, "")
	d.alpha = 0.5
	d.On(cnp, at(1))
	assert.Equal(t, 75e9, d.rc)
	assert.InDelta(t, 0.5*255/256+1.0/256, d.alpha, 1e-12)
}

// A CNP restarts alpha's timer: alpha must not decay during congestion.
func TestDCQCNCNPRestartsTheTimers(t *testing.T) {
	d := dcqcn100(t, "")
	d.On(cnp, at(1))
	dec := d.On(cnp, at(50))
	assert.Equal(t, at(105), dec.WakeAt)
	d.On(&Event{Kind: TIMER}, at(56))
	assert.Equal(t, 1.0, d.alpha)
	assert.Zero(t, d.t)
}

// The fifth event is still recovery: a test for "< F" after counting makes it additive.
func TestDCQCNFiveStepsOfRecovery(t *testing.T) {
	d := dcqcn100(t, "")
	d.rc, d.rt = 20e9, 40e9
	for range 5 {
		d.tick()
	}
	assert.Equal(t, 40e9, d.rt)
}

// The target of a flow that sends less than its rate must not grow: the timers stop when the last
// packet would have been followed by another one.
func TestDCQCNStandsStillWhenIdle(t *testing.T) {
	d := dcqcn100(t, "")
	d.On(cnp, at(0.5))
	d.rc, d.rt = 1e9, 2e9
	last := &Event{Kind: TX, Bytes: 1000, Left: 1000, InFlight: 1000}
	dec := d.On(last, at(10)) // in use until 18
	assert.Zero(t, dec.WakeAt)
	d.On(&Event{Kind: TIMER}, at(500))
	assert.Equal(t, 2e9, d.rt)
	assert.Zero(t, d.t)
	more := &Event{Kind: TX, Bytes: 1000, Left: 9000, InFlight: 1000}
	dec = d.On(more, at(1018)) // 17.5 us of 55 have passed
	assert.Equal(t, at(1055.5), dec.WakeAt)
	d.On(&Event{Kind: TIMER}, at(1055.5))
	assert.Equal(t, 1, d.t)
}

// If the transport does not report Left, the timers run.
func TestDCQCNTimersRunWithoutLeft(t *testing.T) {
	d := dcqcn100(t, "")
	d.On(cnp, at(1))
	dec := d.On(&Event{Kind: TX, Bytes: 1000, InFlight: 1000}, at(10))
	assert.Equal(t, at(56), dec.WakeAt)
}

// Cuts end at the least rate, which is above 0.
func TestDCQCNLeastRate(t *testing.T) {
	d := dcqcn100(t, "")
	var dec Decision
	for i := range 100 {
		dec = d.On(cnp, at(float64(i)))
	}
	assert.Equal(t, units.Mbps, dec.Rate)
}

// The notification point sends a CNP at once, then one per interval, for each queue pair.
func TestCNPGate(t *testing.T) {
	var a, b CNPGate
	assert.True(t, a.Marked(at(1)))
	assert.False(t, a.Marked(at(50)))
	assert.True(t, b.Marked(at(50)), "another queue pair")
	assert.True(t, a.Marked(at(51)))
	assert.False(t, a.Marked(at(100)))
	assert.False(t, a.Marked(at(-1e6)), "the clock stepped back")
	assert.True(t, a.Marked(at(-1e6+50)), "and an interval passed")
	fast := CNPGate{Interval: 4 * us}
	assert.True(t, fast.Marked(0))
	assert.True(t, fast.Marked(at(4)))
}

// Where the line rate is a guess, that rate is not paced, by any algorithm that starts with it; a
// lower rate is.
func TestGuessedLineRate(t *testing.T) {
	guess := everything
	guess.Guessed = true
	for _, name := range []string{"dcqcn", "dcqcn-nic", "timely"} {
		a := make1[Starter](t, name, guess)
		require.Zero(t, a.Start(at(0)).Rate, name)
		require.NotZero(t, make1[Starter](t, name, everything).Start(at(0)).Rate, name)
		now := at(0)
		for range 100 { // CNPs, or timeouts
			now = now.Add(100 * us)
			a.(Algorithm).On(cnp, now)
			a.(Algorithm).On(&Event{Kind: RTO}, now)
			a.(Algorithm).On(&Event{Kind: TIMER}, now.Add(10*us))
		}
		d := a.(Algorithm).On(&Event{Kind: TIMER}, now.Add(11*us))
		assert.Positive(t, d.Rate, name)
		assert.Less(t, d.Rate, guess.LineRate, name)
		low := make1[Starter](t, name+":max_rate=1Gb/s", guess)
		assert.Equal(t, units.Gbps, low.Start(at(0)).Rate, "%s: a configured rate is not a guess",
			name)
	}
}

// Where the line rate is a guess the largest window is four BDPs, unless it is configured.
func TestLargestWindowOfAGuess(t *testing.T) {
	known := Path{LineRate: 100 * units.Gbps, BaseRTT: 20 * units.Microsecond, Payload: 4096}
	guess := known
	guess.Guessed = true
	for _, c := range []struct {
		text string
		path Path
		want units.Bytes
	}{
		{"dcqcn", known, 16 * known.BDP()},
		{"dcqcn", guess, 4 * known.BDP()},
		{"dcqcn:window=8MiB", guess, 8 * units.MiB},
	} {
		spec, err := Parse(c.text)
		require.NoError(t, err)
		a, err := spec.New(c.path)
		require.NoError(t, err)
		assert.Equal(t, c.want, a.(*DCQCN).Start(0).Window, c.text)
	}
}
