package tocc

import (
	"context"
	"testing"
	"time"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/units"
)

func TestTry(t *testing.T) {
	const ms = units.Millisecond
	for _, tb := range []testbed{
		{"", interRack, units.MiB, 0, 8, 4, 16, 1 * ms, 3 * ms},
	} {
		for _, tb.Scheme = range testbedSchemes[1:] {
			at := time.Now()
			r, err := tb.run(experiment.NewJob(context.Background(), experiment.Cell{}, experiment.Small, 1, nil))
			if err != nil {
				t.Error(tb.name(), err)
				continue
			}
			t.Logf("%s: %.1fs goodput %.3f, bg %d mean %.1fus p999 %.1f, lat %d mean %.1f p99.9 %.1f, pauses %v drops %v again %v buffer %.0f", tb.name(), time.Since(at).Seconds(), r.Goodput/testbedCap,
				len(r.Background), r.Background.Mean()*1e6, r.Background.Percentile(99.9)*1e6, len(r.Latency), r.Latency.Mean()*1e6, r.Latency.Percentile(99.9)*1e6, r.Pauses, r.Drops, r.Again, r.Buffer)
		}
	}
}
