package scene

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/units"
)

// BenchmarkFluidAgainstFabric: the same eight flows for the same 50 ms, in the fabric and in the
// fluid model, alternately. The metric is the ratio of the times.
func BenchmarkFluidAgainstFabric(b *testing.B) {
	t := &Target{Scene: Scene{
		Leaves: 1, ToRs: 2, Hosts: 5, Rate: 40 * units.Gbps, Up: 160 * units.Gbps,
		Delay: units.Microsecond, Buffer: units.MiB * 32,
		Senders: 8, QPs: 1, Message: units.MiB, MTU: 1024, Control: "dcqcn", Period: 50 * ms,
		Seed: 1,
	}}
	w, err := bytetuning.Baseline("dcqcn", t.Path())
	require.NoError(b, err)
	w.Pmax = 10
	require.NoError(b, t.Apply(b.Context(), bytetuning.Point{w}))
	c := fluid.Default(8, 40*units.Gbps)
	var packets, model time.Duration
	for b.Loop() {
		begun := time.Now()
		_, err := t.Measure(b.Context())
		require.NoError(b, err)
		packets += time.Since(begun)
		const turns = 20
		begun = time.Now()
		for range turns {
			_, err := fluid.Run(c)
			require.NoError(b, err)
		}
		model += time.Since(begun) / turns
	}
	b.ReportMetric(packets.Seconds()/model.Seconds(), "times")
}
