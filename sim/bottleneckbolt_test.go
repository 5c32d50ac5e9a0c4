package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// onLink is the time that a number of full packets of 1024 bytes under Bolt take on the link.
func onLink(packets units.Bytes) units.Duration {
	return (100 * units.Gbps).Duration(packets * (Bolt(1024).Frame + unstored))
}

// percentile returns a percentile of the queue's delay.
func delay(r *Result, p float64, from, to units.Duration) units.Duration {
	return (100 * units.Gbps).Duration(units.Bytes(r.Queues[0].Length.Percentile(p,
		units.Time(from), units.Time(to))))
}

// used is the share of time in which the link was busy. Result counts payload.
func used(r *Result, from, to units.Duration) float64 {
	goodput := r.Goodput().Mean(units.Time(from), units.Time(to))
	return goodput * float64(Bolt(1024).Frame+unstored) / 1024 / 100e9
}

// 32 senders: each gets a report on the queue before a round trip is over, all have their share,
// and the one that stays has the whole link after the others stop.
func TestBoltIncast(t *testing.T) {
	const senders, ms = 32, units.Millisecond
	bolt := control(t, "bolt")
	flows := []Flow{{Control: bolt}}
	for range senders - 1 {
		flows = append(flows, Flow{Control: bolt, Stop: 10 * ms})
	}
	r := run(t, Bottleneck{Until: 11 * ms, Jitter: 5 * us}, flows...)

	// The acknowledgement of the first packet arrives after a base round trip plus its time in
	// the queue.
	for i, f := range r.Traces {
		require.NotEmpty(t, f.Window.Times, i)
		require.Less(t, f.Window.Values[0], 102., "a cut")
		assert.Less(t, f.Window.Times[0].Sub(units.Time(f.Start)), r.Traces[0].BaseRTT, "sender %d",
			i)
	}

	from, to := 5*ms, 10*ms
	mean := r.Goodput().Mean(units.Time(from), units.Time(to)) / senders
	for i, f := range r.Traces {
		assert.InEpsilon(t, mean, f.Goodput.Mean(units.Time(from), units.Time(to)), 0.05,
			"sender %d", i)
	}
	assert.Greater(t, used(r, from, to), 0.98)
	assert.Less(t, delay(r, 99, from, to), onLink(2*senders), "two packets of each")
	assert.Zero(t, r.Queues[0].Stats.Dropped)
	reports := units.RateOf(units.Bytes(94*r.Queues[0].Stats.Reported), r.End)
	t.Logf("used %.4f, queue p50 %v p99 %v, reports %v", used(r, from, to), delay(r, 50, from, to),
		delay(r, 99, from, to), reports)

	alone := units.Duration(0)
	for i, at := range r.Traces[0].Goodput.Times {
		if at.Sub(0) > 10*ms && r.Traces[0].Goodput.Values[i] > 0.95*100e9*1024/
			float64(Bolt(1024).Frame+unstored) {
			alone = at.Sub(0) - 10*ms
			break
		}
	}
	t.Logf("the line again after %v", alone)
	assert.NotZero(t, alone)
	assert.Less(t, alone, 200*us,
		"98 steps of a packet a round trip would be 800 us: the link's supply doubles it")
}
