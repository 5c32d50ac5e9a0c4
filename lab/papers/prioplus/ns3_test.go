package prioplus

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// The public ns-3 model of PrioPlus (github blueroaring/PrioPlus, snapshot e3d2a8905) with four
// adjacent priorities of two flows each: one more begins each millisecond, upward, and from 4 ms on
// one stops each millisecond, downward. Goodput of each class in the second half of each
// millisecond, Gb/s, the lowest first; payload is 0.949 of what a link carries there.
var ns3Stairs = [7][4]float64{
	{94.9, 0, 0, 0},
	{46.6, 48.3, 0, 0},
	{0, 77.7, 17.1, 0},
	{0, 0, 84.1, 10.7},
	{0, 0, 94.8, 0},
	{12.2, 78.9, 0, 0},
	{83.7, 0, 0, 0},
}

// ns3Table is the channels of all its runs: W_LS an eighth of a BDP, and a probe first.
const ns3Table = "n=8,high=0,low=1,direct=0"

// stairsOfNS3 are the flows of its stairs.
func stairsOfNS3() (flows []sim.Flow, priorities []int) {
	for class := range 4 {
		for range 2 {
			flows = append(flows, sim.Flow{Start: units.Duration(class) * units.Millisecond,
				Stop: units.Duration(7-class) * units.Millisecond})
			priorities = append(priorities, class+1)
		}
	}
	return flows, priorities
}

// controlled returns flows with the channels of a table.
func controlled(t *testing.T, flows []sim.Flow, table string, priority func(flow int) int,
) []sim.Flow {
	flows = append([]sim.Flow(nil), flows...)
	for i := range flows {
		control, err := virtual(table, priority(i), wai)
		require.NoError(t, err)
		flows[i].Control = control
	}
	return flows
}

// TestAgainstNS3Stairs: by the paper's rules, and by the model's own, in at least one of five draws
// of starts and probes ours leaves no more of the link unused than the model in its one, and gives
// the highest class no smaller share, within a tenth.
func TestAgainstNS3Stairs(t *testing.T) {
	race.OneGoroutine(t)
	for _, rules := range []string{"", artifactRules} {
		t.Run("rules"+rules, func(t *testing.T) { compareStairs(t, ns3Table+rules) })
	}
}

// draws is the number of draws of starts and probes.
const draws = 5

// drawn returns the results of draws of the flows on the bottleneck, with starts drawn from 5 µs.
func drawn(t *testing.T, flows []sim.Flow, until units.Duration) iter.Seq[*sim.Result] {
	return func(yield func(*sim.Result) bool) {
		for seed := range uint64(draws) {
			config := micro(seed+1, until)
			config.Jitter = 5 * units.Microsecond
			r, err := config.Run(t.Context(), flows)
			require.NoError(t, err)
			if !yield(r) {
				return
			}
		}
	}
}

func compareStairs(t *testing.T, table string) {
	flows, priorities := stairsOfNS3()
	flows = controlled(t, flows, table, func(flow int) int { return priorities[flow] })
	var mean [7][4]float64
	var used, first [7]float64 // the maximum of the draws
	for r := range drawn(t, flows, 7*units.Millisecond) {
		for phase := range mean {
			end := units.Duration(phase+1) * units.Millisecond
			var g [4]float64
			for class := range g {
				g[class] = group(r.Traces[2*class:2*class+2], end-units.Millisecond/2, end) / 1e9
				mean[phase][class] += g[class] / draws
			}
			used[phase] = max(used[phase], sum(g)/micro(0, 0).Capacity()*1e9)
			first[phase] = max(first[phase], g[highest(phase)]/sum(g))
		}
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "millisecond\tours, mean, lowest first (Gb/s)\tns-3")
	for phase, there := range ns3Stairs {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\n", phase, mean[phase], there)
		assert.Greater(t, used[phase], 0.9*sum(there)/94.9, "millisecond %d: of the link", phase)
		assert.Greater(t, first[phase], 0.9*there[highest(phase)]/sum(there),
			"millisecond %d: of the highest", phase)
	}
	w.Flush()
	t.Log("\n" + text.String())
}

// highest returns the highest class whose flows run for a whole millisecond.
func highest(phase int) int { return min(phase, 6-phase) }

func sum(g [4]float64) (all float64) {
	for _, x := range g {
		all += x
	}
	return all
}

// ns3Spread is the minimum and the maximum over the model's five draws.
type ns3Spread struct{ low, high float64 }

func (s ns3Spread) String() string { return fmt.Sprintf("%.4g..%.4g", s.low, s.high) }

// agrees reports whether the mean of our draws is within the spread, and 5 % and two standard
// errors beyond it: the model's packets, and what is random in it, differ a little from ours.
func (s ns3Spread) agrees(ours experiment.Values) bool {
	mean, squares := ours.Mean(), 0.
	for _, x := range ours {
		squares += (x - mean) * (x - mean)
	}
	n := float64(len(ours))
	more := 2 * math.Sqrt(squares/(n-1)/n)
	return mean >= 0.95*s.low-more && mean <= 1.05*s.high+more
}

// ns3Run is a run of the model: the used part of the link, the mean queue (bytes on the link), the
// mean completion time (µs), and Jain's index of what arrived while all flows ran.
type ns3Run struct {
	name                   string
	flows                  []sim.Flow
	priorities             []int // nil: all have the second, 100 KB of queue
	util, queue, fct, jain ns3Spread
}

func ns3Runs() []ns3Run {
	ms := units.Millisecond
	stairs, priorities := stairsOfNS3()
	return []ns3Run{
		{"two, one of which joins", []sim.Flow{{Stop: 5 * ms}, {Start: ms, Stop: 5 * ms}}, nil,
			ns3Spread{0.81741, 0.96821}, ns3Spread{45564, 75475}, ns3Spread{4514.966, 4518.651},
			ns3Spread{0.61662, 0.68858}},
		{"eight", sizedLikeNS3(8, 5_000_000), nil, ns3Spread{0.96756, 0.97012},
			ns3Spread{91888, 92214}, ns3Spread{3136.071, 3215.419}, ns3Spread{0.93687, 0.96731}},
		{"incast of 32", sizedLikeNS3(32, 500_000), nil, ns3Spread{0.87117, 0.87736},
			ns3Spread{80959, 83951}, ns3Spread{1368.608, 1415.304}, ns3Spread{0.96587, 0.98685}},
		{"four that join and leave", []sim.Flow{{Stop: 4 * ms}, {Start: ms, Stop: 5 * ms},
			{Start: 2 * ms, Stop: 6 * ms}, {Start: 3 * ms, Stop: 7 * ms}}, nil,
			ns3Spread{0.92405, 0.96751}, ns3Spread{58310, 65949}, ns3Spread{4014.624, 4016.186},
			ns3Spread{0.38691, 0.59051}},
		{"stairs", stairs, priorities, ns3Spread{0.8397, 0.85491}, ns3Spread{77589, 78614},
			ns3Spread{4017.478, 4018.995}, ns3Spread{0.36332, 0.37601}},
	}
}

// sizedLikeNS3 returns flows with as many bytes on a link as the model's.
func sizedLikeNS3(n int, bytes float64) []sim.Flow {
	flows := make([]sim.Flow, n)
	for i := range flows {
		flows[i].Bytes = units.Bytes(math.Round(bytes/1000*replayPacket/packet)) * payload
	}
	return flows
}

// TestAgainstNS3: with the model's rules the same flows give the same use of the link, queue,
// completion times and fairness as the model, on average over draws.
func TestAgainstNS3(t *testing.T) {
	race.OneGoroutine(t)
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "flows\tlink\tns-3\tqueue (B)\tns-3\tFCT (µs)\tns-3\tJain\tns-3")
	for i, there := range ns3Runs() {
		if race.Short() && i > 0 { // one is enough for the race detector
			continue
		}
		util, queue, fct, jain := likeNS3(t, there)
		for _, f := range []struct {
			name  string
			ours  experiment.Values
			their ns3Spread
		}{{"use of the link", util, there.util}, {"queue", queue, there.queue},
			{"completion time", fct, there.fct}, {"Jain", jain, there.jain}} {
			assert.True(t, f.their.agrees(f.ours), "%s, %s: %.4g, ns-3 %v", there.name, f.name,
				f.ours, f.their)
		}
		fmt.Fprintf(w, "%s\t%.3f\t%v\t%.0f\t%v\t%.0f\t%v\t%.3f\t%v\n", there.name, util.Mean(),
			there.util, queue.Mean(), there.queue, fct.Mean(), there.fct, jain.Mean(), there.jain)
	}
	require.NoError(t, w.Flush())
	t.Log("\n" + text.String())
}

// likeNS3 returns the results of each draw.
func likeNS3(t *testing.T, there ns3Run) (util, queue, fct, jain experiment.Values) {
	flows := controlled(t, there.flows, ns3Table+artifactRules, func(flow int) int {
		if there.priorities == nil {
			return 2
		}
		return there.priorities[flow]
	})
	for r := range drawn(t, flows, 20*units.Millisecond) {
		first, last, joined, left := labtest.Intervals(t, r.Traces)
		from, to := units.Time(first), units.Time(last)
		var times experiment.Values
		for _, f := range r.Traces {
			times = append(times, f.FCT().Microseconds())
		}
		util = append(util, sim.Goodput(r.Traces).Mean(from, to)/micro(0, 0).Capacity())
		queue = append(queue, r.Queues[0].Length.Mean(from, to))
		fct = append(fct, times.Mean())
		jain = append(jain, r.Jain(joined, left))
	}
	return util, queue, fct, jain
}
