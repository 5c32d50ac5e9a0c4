package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// A peer that was away for long may be away again: the allowance is twice the longest time
// reported, and decreases with each sample without such a time.
func TestPeerAway(t *testing.T) {
	const ms = units.Millisecond
	for _, c := range []struct {
		name    string
		samples []units.Duration
		want    units.Duration
	}{
		{"nothing was reported", nil, 0},
		{"never away", []units.Duration{0, 0, 0}, 0},
		{"as long as a phase takes: that is work", []units.Duration{maxPhase}, 0},
		{"longer", []units.Duration{208 * us}, 2 * 208 * us},
		{"in grains of 16 us", []units.Duration{223 * us}, 2 * 208 * us},
		{"the longest counts", []units.Duration{8 * ms, 16 * ms, 16 * ms}, 32*ms - 2*16*us},
		{"a shorter one does not, and some of the longer is forgotten",
			[]units.Duration{16 * ms, 8 * ms}, 32*ms - 2*16*us},
		{"at most 50 ms", []units.Duration{units.Second}, 100 * ms},
		{"it does not become negative", []units.Duration{208 * us, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0}, 0},
	} {
		var p peerAway
		for _, away := range c.samples {
			p.onSample(away)
		}
		assert.Equal(t, c.want, p.allowance(), c.name)
	}
}

// TestPeerAwayIsForgotten bounds how many samples without such a time it takes to forget one.
func TestPeerAwayIsForgotten(t *testing.T) {
	for _, c := range []struct {
		away   units.Duration
		atMost int
	}{{units.Millisecond, 63}, {10 * units.Millisecond, 625}, {50 * units.Millisecond, 2000}} {
		var p peerAway
		p.onSample(c.away)
		n := 0
		for ; p > 0; n++ {
			p.onSample(0)
		}
		assert.LessOrEqual(t, n, c.atMost, c.away)
		assert.Greater(t, n, c.atMost/3, c.away)
	}
}
