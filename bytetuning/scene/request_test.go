package scene

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// requests runs two senders of ten queue pairs with 64 KiB at a time, and returns the requests of
// the measured period.
func requests(t *testing.T, change func(*Target)) (*Run, []Request, *bytetuning.Measurement) {
	target := short(t, "2to1")
	target.Message, target.Requests = 64*units.KiB, true
	change(target)
	var r *Run
	target.Watch = func(now *Run) { r = now }
	m := measure(t, target, baseline(t, "experience"))
	var in []Request
	for _, q := range r.Requests {
		if q.Done.After(units.Time(target.Settle)) {
			in = append(in, q)
		}
	}
	require.NotEmpty(t, in)
	return r, in, m
}

// TestRequests: without an interval each queue pair has one request at any time, so the mean time
// of a request is their number over the rate of completions (Little's law).
func TestRequests(t *testing.T) {
	_, done, m := requests(t, func(target *Target) { target.Period = 10 * ms })
	var took units.Duration
	for _, q := range done {
		took += q.Took()
	}
	assert.InEpsilon(t, 20*10*ms.Seconds(), took.Seconds(), 0.05)
	assert.Greater(t, m.Throughput(), 20*units.Gbps)
}

// TestInterval: a load below the rate of the link starts on time, one request per interval.
func TestInterval(t *testing.T) {
	r, done, _ := requests(t, func(target *Target) {
		target.Interval = 500 * units.Microsecond
		target.QPs = 1
		target.Period = 5 * ms
	})
	assert.Len(t, done, 2*10)
	assert.Less(t, done[0].Took(), 100*units.Microsecond)
	for _, q := range r.Requests {
		assert.Zero(t, units.Duration(q.Begun)%(500*units.Microsecond))
	}
}

// TestLossy: without PFC there are no pauses, and DCTCP keeps the queue at its threshold.
func TestLossy(t *testing.T) {
	target := short(t, "2to1")
	target.Control, target.Lossy = "dctcp", true
	var r *Run
	target.Watch = func(now *Run) { r = now }
	m := measure(t, target, baseline(t, "dctcp"))
	assert.Zero(t, r.Pauses())
	assert.Greater(t, m.Throughput(), 24*units.Gbps)
	assert.Less(t, m.Queue(), units.Bytes(200_000))
}
