package cc

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

var seedFlag = flag.Uint64("seed", 1, "seed of the packet model; 0 draws one")

// shared is a path of 100 packets. It gives every signal except the hosts' part of the delay.
var shared = Path{LineRate: 100 * gbps, BaseRTT: 8 * us, Payload: 1000,
	Signals: allSignals &^ SignalEndpoint}

var (
	noMarks = red{1 << 40, 1 << 40, 0}
	atK     = red{40_000, 40_000, 1}
	between = red{100_000, 400_000, 0.2}
)

// TestFairness checks that flows which join one after another come to share a queue, and that the
// last one regains the line rate after all others leave.
//
// Within is the tolerated relative deviation of a flow's share from the mean. It is 5 % for
// algorithms with a fixed point that is fair. The others:
//   - DCQCN is cut at random. The deviation after n cuts is noise of the order of 1/sqrt(n), and
//     there are some hundred cuts in the measured time.
//   - DCQCN of NICs raises its rate by constants that take hundreds of milliseconds for a line of
//     100 Gb/s.
//   - TIMELY has no unique fixed point ("ECN or Delay", CoNEXT'16): any shares are stable. Patched
//     TIMELY has one.
//   - LEDBAT grows and shrinks by the same amount whatever its window is, so shares stay as they
//     began, and only losses even them out. Its flows start together here.
//   - Bolt without pace removes a packet at a time, and no two closer than a gap. A flow whose
//     packets travel in one bunch gets the report of a switch once a round trip, so it removes one
//     packet, like a flow with a quarter of its window: many flows become even over hundreds of
//     milliseconds. With windows of 1.5 packets, each report halves a flow that has fallen to one
//     packet, which may stay there: 64 flows are not in the table.
func TestFairness(t *testing.T) {
	race.OneGoroutine(t)
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed=%d", seed)
	for _, c := range []struct {
		spec     string
		marks    red
		ms       float64 // measured, after as many to settle
		flows    []int
		within   float64
		used     float64 // least fraction of the line
		recovers float64 // milliseconds
	}{
		{"swift", noMarks, 80, []int{2}, 0.05, 0.98, 8},
		{"swift", noMarks, 20, []int{8, 64}, 0.05, 0.98, 8},
		{"swift:fs_range=0s", noMarks, 40, []int{8}, 0.05, 0.98, 8},
		{"dctcp", atK, 50, []int{2, 8, 64}, 0.05, 0.98, 8},
		{"idctcp", atK, 50, []int{2, 8, 64}, 0.05, 0.98, 8},
		{"d2tcp", atK, 50, []int{8}, 0.05, 0.98, 8},
		{"hpcc", noMarks, 40, []int{2, 8, 64}, 0.05, 0.92, 8},
		{"bolt", noMarks, 20, []int{2, 8}, 0.05, 0.95, 8},
		{"bolt:pace=off", noMarks, 40, []int{2}, 0.1, 0.95, 8},
		{"bolt:pace=off", noMarks, 20, []int{8}, 0.05, 0.95, 8},
		{"timely:patched=on,window=2BDP", noMarks, 20, []int{2, 8, 64}, 0.05, 0.85, 16},
		{"timely:delta=100Mb/s,window=2BDP", noMarks, 20, []int{8}, 0.6, 0.8, 16},
		{"dcqcn:window=4BDP,ai=0.002line", between, 40, []int{2, 8}, 0.2, 0.95, 32},
		{"dcqcn-nic:window=4BDP,ai=100Mb/s,hai=1Gb/s", between, 40, []int{2}, 0.2, 0.95, 32},
		{"ledbat-dc", noMarks, 10, []int{8}, 2, 0.98, 4},
		{"ledbat:target=10us", noMarks, 10, []int{8}, 2, 0.98, 4},
	} {
		for _, n := range c.flows {
			t.Run(fmt.Sprintf("%s/%d", c.spec, n), func(t *testing.T) {
				m := newModel(shared, c.marks, seed)
				for i := range n {
					apart := c.ms * 250 / float64(n)
					if strings.HasPrefix(c.spec, "ledbat") {
						apart = 0.1
					}
					m.add(make1[Algorithm](t, c.spec, shared), at(apart*float64(i)))
				}
				m.run(at(c.ms * 1000))
				before := make([]units.Bytes, n)
				for i, s := range m.flows {
					before[i] = s.acked
				}
				m.run(at(c.ms * 2000))
				share := shared.LineRate.Bytes(units.Duration(c.ms*1000)*us) / units.Bytes(n)
				var sum, low, high units.Bytes
				for i, s := range m.flows {
					got := s.acked - before[i]
					sum += got
					if low = min(low, got); i == 0 {
						low = got
					}
					high = max(high, got)
				}
				mean := float64(sum) / float64(n)
				t.Logf("used %.3f, shares %.3f to %.3f", mean/float64(share), float64(low)/mean,
					float64(high)/mean)
				assert.Greater(t, mean/float64(share), c.used)
				assert.Greater(t, float64(low), mean*max(1-c.within, 0.05), "no flow starves")
				assert.Less(t, float64(high), mean*(1+c.within))

				last := m.flows[0]
				for _, s := range m.flows[1:] {
					s.stop()
				}
				m.run(m.now.Add(units.Duration(c.recovers*1000) * us))
				was := last.acked
				m.run(m.now.Add(units.Millisecond))
				rate := units.RateOf(last.acked-was, units.Millisecond)
				require.Greater(t, rate, units.BitRate(0.98*c.used*float64(shared.LineRate)),
					"alone")
			})
		}
	}
}
