package tocc

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

func TestTmp(t *testing.T) {
	wl := os.Getenv("WL")
	n := os100.small()
	if os.Getenv("NET") == "os10" {
		n = os10.small()
	}
	if os.Getenv("ONE") != "" {
		n.Spines = 1
	}
	if os.Getenv("FULL") != "" {
		n = os100
	}
	fl := 300
	fmt.Sscan(os.Getenv("FLOWS"), &fl)
	for _, s := range []scheme{credits, homa, unscheduled, scheduled, endless, aeolus, ndp} {
		if only := os.Getenv("S"); only != "" && only != string(s) {
			continue
		}
		r := run{s, n, traffic{Workload: wl, Load: 0.8, Flows: fl}}
		j := experiment.NewJob(context.Background(), experiment.Cell{Name: "x"}, experiment.Small, 1, nil)
		t0 := time.Now()
		ctx, c := context.WithTimeout(context.Background(), 100*time.Second)
		_ = ctx
		out, err := r.simulate(j)
		c()
		if err != nil {
			fmt.Println(s, err, time.Since(t0))
			continue
		}
		var sd, fct experiment.Values
		for _, f := range out.Flows {
			sd = append(sd, f.Slowdown)
			fct = append(fct, f.FCT.Microseconds())
		}
		if os.Getenv("WORST") != "" {
			slices.SortFunc(out.Flows, func(a, b finished) int { return cmp.Compare(b.Slowdown, a.Slowdown) })
			for _, f := range out.Flows[:8] {
				fmt.Printf("  %+v\n", f)
				for _, a := range out.Admitted {
					if a.Bytes == f.Bytes {
						fmt.Printf("     gate %+v\n     granter %+v\n", a.Gate.Tally(), a.Granter.Tally())
					}
				}
			}
		}
		var g, d, b, un units.Bytes
		var rep, lost uint64
		for _, a := range out.Admitted {
			g += a.Granter.Tally().Granted
			un += a.Gate.Tally().Unscheduled
			d += a.Gate.Tally().Discarded
			b += a.Bytes
			rep += a.Gate.Tally().Repeats + a.Granter.Tally().Repeats
			lost += a.Granter.Tally().Lost
		}
		fmt.Printf("%-24s wall %6.2fs mean %8.2f p50 %7.2f p99 %8.2f fct %9.1f/%9.1f buf %9d sent %.0f lost %.0f trim %.0f again %.0f timeouts %.0f | granted/bytes %.3f unsch %.3f discarded %.3f repeats %d creditlost %d\n", s, time.Since(t0).Seconds(), sd.Mean(), sd.Percentile(50), sd.Percentile(99), fct.Mean(), fct.Percentile(99), out.Buffer, out.Sent, out.Lost, out.Trimmed, out.Again, out.Timeouts,
			float64(g)/float64(b), float64(un)/float64(b), float64(d)/float64(b), rep, lost)
	}
}

func init() {
	dbgEnd = func(n *fabric.Network) {
		if os.Getenv("PORTS") == "" {
			return
		}
		for _, s := range n.Switches() {
			for i, p := range s.Ports() {
				for q := range fabric.MaxQueues {
					st := p.QueueStats(q)
					if st.Longest > 90000 || (q >= 5 && st.Frames > 0 && os.Getenv("PORTS") == "2") {
						fmt.Println(s, "port", i, "queue", q, "longest", st.Longest, "frames", st.Frames, "dropped", st.Dropped, st.Bytes)
					}
				}
			}
		}
	}
}
