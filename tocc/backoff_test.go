package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// The interval is twice the measured response time, doubled by repetitions. A response after a
// repetition reduces it by one doubling.
func TestLostIsSentAgainAfterReorderingWindow(t *testing.T) {
	p := newBackoff(5 * us)
	lasts := func(d units.Duration) {
		t.Helper()
		assert.Equal(t, units.Time(d), p.deadline())
	}
	lasts(50 * us)
	p.addSample(300 * us)
	lasts(600 * us)
	p.onRepeat()
	p.onRepeat()
	lasts(2400 * us)
	p.addSample(us)
	lasts(1200 * us)
	p.addSample(80 * us)
	lasts(2 * 262500 * units.Nanosecond)
	for range 100 {
		p.onRepeat()
	}
	lasts(maxBackoff)
	p.addSample(us)
	lasts(maxBackoff)
	p.addSample(us)
	assert.Less(t, p.deadline(), units.Time(maxBackoff))
}

// A receiver whose sender is gone repeats its TOKEN once per second in the end.
func TestBackoffOfTokenRetries(t *testing.T) {
	p := newBackoff(5 * us)
	p.unlimited = true
	for i := range 100 {
		p.onRepeat()
		if i < maxUnanswered {
			assert.LessOrEqual(t, p.deadline(), units.Time(maxBackoff))
		}
	}
	assert.Equal(t, units.Time(256*maxBackoff), p.deadline())
}
