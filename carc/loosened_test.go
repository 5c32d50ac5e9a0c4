package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func adapting() loosened { return newLoosened(&options{adapts: true}, 10*us) }

// 10 Gb/s and a round trip of 10 us are 195 lines.
func TestDeltaCoversTheRoundTrip(t *testing.T) {
	l := adapting()
	for range 100 {
		l.sample((10 * units.Gbps).Duration(1024), 16)
	}
	assert.EqualValues(t, 195, l.need)
	for _, c := range []struct {
		credits Lines
		state   cc.CacheState
		want    Lines
	}{
		{196, 0, 0}, // it grows while the receiver idles only
		{196, cc.CacheIdle, 195},
		{196, 0, 195}, // and stays
		{100, 0, 100}, // as much as the credits
		{196, 0, 100},
		{196, cc.CacheIdle, 195},
		{196, cc.CacheIdle | cc.CacheBeyondDDIO, 0},
		{196, cc.CacheIdle, 195},
		{196, cc.CacheApproaching, 0},
	} {
		l.loosen(c.credits, c.state)
		assert.Equal(t, c.want, l.delta, "%+v", c)
	}
}

// A response says v2·RTT when the peer says how long it had the request, or when the request was
// alone.
func TestDeltaFromResponses(t *testing.T) {
	service := (10 * units.Gbps).Duration(1024)
	told := adapting()
	for range 100 {
		told.peer(service)
		told.timed(70*us, 16) // it waited, and does not count
		told.answered(16)
	}
	assert.EqualValues(t, 195, told.need)

	silent := adapting()
	for range 100 {
		silent.timed(10*us+service, 16)
		silent.answered(16)
	}
	assert.EqualValues(t, 195, silent.need)
}

func TestSamplesThatTellNothing(t *testing.T) {
	l := adapting()
	l.timed(10*us, 16) // no time is left for the program
	l.answered(16)     // the peer says nothing
	l.sample(0, 16)
	l.sample(us, 0)
	assert.Zero(t, l.need)
	off := newLoosened(&options{}, 10*us)
	off.peer(us)
	off.answered(16)
	off.loosen(1000, cc.CacheIdle)
	assert.Zero(t, off.delta, "delta=off")
}

// v2 doubles: within 16 samples the estimate is within a fifth.
func TestDeltaFollowsThePrograms(t *testing.T) {
	l := adapting()
	for _, rate := range []units.BitRate{5, 10, 5} {
		for range 16 {
			l.sample((rate * units.Gbps).Duration(8192), 128)
		}
		assert.InEpsilon(t, 19.53*float64(rate), float64(l.need), 0.2)
	}
}
