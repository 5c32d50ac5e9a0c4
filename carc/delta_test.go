package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func adapting() delta { return newDelta(&options{adapts: true}, 10*us) }

// At 10 Gb/s, 195 lines cover a round trip of 10 us.
func TestDeltaCoversTheRoundTrip(t *testing.T) {
	l := adapting()
	for range 100 {
		l.addSample((10 * units.Gbps).Duration(1024), 16)
	}
	assert.EqualValues(t, 195, l.estimate)
	for _, c := range []struct {
		credits Lines
		state   cc.CacheState
		want    Lines
	}{
		{196, 0, 0}, // it grows only while the receiver is idle
		{196, cc.CacheIdle, 195},
		{196, 0, 195}, // it stays otherwise
		{100, 0, 100}, // at most as many as the credits
		{196, 0, 100},
		{196, cc.CacheIdle, 195},
		{196, cc.CacheIdle | cc.CacheBeyondDDIO, 0},
		{196, cc.CacheIdle, 195},
		{196, cc.CacheApproaching, 0},
	} {
		l.update(c.credits, c.state)
		assert.Equal(t, c.want, l.lines, "%+v", c)
	}
}

// A response yields v2·RTT if the peer announces its processing time, or if the request was
// outstanding alone.
func TestDeltaFromResponses(t *testing.T) {
	service := (10 * units.Gbps).Duration(1024)
	told := adapting()
	for range 100 {
		told.onServiceTime(service)
		told.onLoneResponse(70*us, 16) // ignored, since the peer announces its time
		told.onResponse(16)
	}
	assert.EqualValues(t, 195, told.estimate)

	silent := adapting()
	for range 100 {
		silent.onLoneResponse(10*us+service, 16)
		silent.onResponse(16)
	}
	assert.EqualValues(t, 195, silent.estimate)
}

func TestIgnoredSamples(t *testing.T) {
	l := adapting()
	l.onLoneResponse(10*us, 16) // no time left for the program
	l.onResponse(16)            // the peer announced nothing
	l.addSample(0, 16)
	l.addSample(us, 0)
	assert.Zero(t, l.estimate)
	off := newDelta(&options{}, 10*us)
	off.onServiceTime(us)
	off.onResponse(16)
	off.update(1000, cc.CacheIdle)
	assert.Zero(t, off.lines, "delta=off")
}

// v2 doubles and halves: after 16 samples the estimate is within a fifth.
func TestDeltaFollowsThePrograms(t *testing.T) {
	l := adapting()
	for _, rate := range []units.BitRate{5, 10, 5} {
		for range 16 {
			l.addSample((rate * units.Gbps).Duration(8192), 128)
		}
		assert.InEpsilon(t, 19.53*float64(rate), float64(l.estimate), 0.2)
	}
}
