package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/units"
)

// Two flows of a priority above two of a lower one, as packets through the transport, with probes:
// the higher ones take the link, the lower ones stop, and have it again when those end. prioplus
// tests the same and more in a model.
func TestVirtualPriority(t *testing.T) {
	for _, c := range []struct {
		name, inner     string
		high, low       int // places in the table, from 1
		class, settings string
		up, back        float64 // ms, at most
	}{
		{"6 over 5", "swift", 6, 5, "low=1", "", 3.5, 1},
		// without noise: the lower ones continue longer than in the model,
		{"6 over 5, with room and patience", "swift", 6, 5, "low=1", ",room=on,patience=20", 1.7,
			0.5},
		{"6 over 2", "swift", 6, 2, "low=0", "", 1, 1},
		{"6 over 2, with room and patience", "swift", 6, 2, "low=0", ",room=on,patience=20", 0.5,
			0.5},
		{"6 over 2, one-way delay", "swift", 6, 2, "low=0", ",one_way=on", 1, 1},
		{"6 over 2, LEDBAT", "ledbat-dc", 6, 2, "low=0", "", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			prio := func(i int, class string) prioplus.Spec {
				channels, err := prioplus.ParseChannels("n=8,high=0,direct=0," + class + c.settings)
				require.NoError(t, err)
				return prioplus.Spec{Inner: control(t, c.inner), Channels: channels,
					Priority: i - 1}
			}
			var flows []Flow
			for range 2 {
				flows = append(flows, Flow{Control: prio(c.low, "low=1")},
					Flow{Start: units.Millisecond, Stop: 5 * units.Millisecond,
						Control: prio(c.high, c.class)})
			}
			config := Bottleneck{Seed: 1, Rate: 100 * units.Gbps, Delay: 3 * units.Microsecond,
				PathMTU: 1024, Chunk: 16 * units.MiB, Until: 7 * units.Millisecond}
			r := run(t, config, flows...)
			share := func(of int, ms float64) float64 {
				from := units.Time(ms * float64(units.Millisecond))
				to, sum := from.Add(100*units.Microsecond), 0.0
				for i, f := range r.Traces {
					if i%2 == of || of < 0 {
						sum += f.Goodput.Mean(from, to)
					}
				}
				return sum / config.Capacity()
			}
			after := func(of int, begin float64) float64 {
				ms := begin
				for ; share(of, ms) < 0.95 && ms < 7; ms += 0.05 {
				}
				return ms - begin
			}
			up, back := after(1, 1), after(-1, 5)
			t.Logf("the higher ones have the link after %.2f ms; it is full again %.2f ms after "+
				"they end", up, back)
			assert.Less(t, up, c.up)
			assert.Less(t, back, c.back)
			assert.Less(t, share(0, 4.8), 0.01, "the lower ones have stopped")
			assert.Greater(t, share(1, 4.8), 0.97)
			assert.InDelta(t, 4*float64(c.high),
				r.Queues[0].Length.Mean(units.Time(4500*units.Microsecond),
					units.Time(5*units.Millisecond))*8/100e3, 1.5, "us of queue: D_target")
			assert.Zero(t, r.Queues[0].Stats.Dropped)
		})
	}
}
