package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// tokenCCs are algorithms that control tokens, and data. Swift's target is the largest queue at
// which marks of DCQCN and DCTCP begin: 5 µs of queue, 62 KB at 100 Gb/s. TIMELY's thresholds are
// in proportion to the round trip, as in its paper.
var tokenCCs = []struct{ Name, Control string }{
	{"dcqcn", dcqcnSet1},
	{"dctcp", "dctcp"},
	{"swift", swiftNear},
	{"timely", "timely"},
}

const swiftNear = "swift:base_target=rtt+5us,per_hop=0s,fs_range=0s"

func overTokens(control string) method {
	return method{Control: uncontrolled, Tokens: "tocc:" + tokenSet + ",cc=" + control,
		Switches: limiting, Selective: true}
}

func overData(control string) method {
	return method{Control: control, Switches: lossless}
}

// tokenCC: other congestion control over tokens than the paper's DCQCN.
var tokenCC = &experiment.Experiment{
	ID: "beyond/tocc-cc",
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		for _, w := range []way{oneWay, exactly} {
			p := withoutCC(s, w)
			p.Name = ccCell("none", w)
			out = append(out, tokenCells(p)...)
			for _, c := range tokenCCs {
				p.Name, p.Spec = ccCell(c.Name, w), twoPackets+",cc="+c.Control
				out = append(out, tokenCells(p)...)
			}
		}
		m := ccMix(s)
		for _, c := range tokenCCs {
			out = append(out, cells(m.Network, m.Traffic, scheme("ToCC, "+c.Name),
				scheme(c.Name))...)
		}
		return out
	},
	Run: func(j *experiment.Job) error {
		if _, ok := j.Params.(run); ok {
			return serve(j)
		}
		return runTokens(j)
	},
	Judge: func(r *experiment.Results) {
		flat, drains := claims.Value{}, claims.Value{}
		none := r.Cell(ccCell("none", exactly)).Values("later").Mean()
		flat = flat.With("none",
			claims.Number(r.Cell(ccCell("none", oneWay)).Values("spread").Mean()))
		most, least := map[bool]float64{}, map[bool]float64{false: math.Inf(1), true: math.Inf(1)}
		for _, c := range tokenCCs {
			flat = flat.With(c.Name,
				claims.Number(r.Cell(ccCell(c.Name, oneWay)).Values("spread").Mean()))
			drains = drains.With(c.Name,
				claims.Number(r.Cell(ccCell(c.Name, exactly)).Values("later").Mean()/none))
			for _, over := range []bool{false, true} {
				tail := p99(rowOf(r, ccRun(r.Scale, c.Name, over)).fct())
				most[over], least[over] = max(most[over], tail), min(least[over], tail)
			}
		}
		rest := map[bool]float64{} // the same without TIMELY, the last
		for _, over := range []bool{false, true} {
			high, low := 0., math.Inf(1)
			for _, c := range tokenCCs[:len(tokenCCs)-1] {
				tail := p99(rowOf(r, ccRun(r.Scale, c.Name, over)).fct())
				high, low = max(high, tail), min(low, tail)
			}
			rest[over] = high / low
		}
		tails := func(over bool) (out []any) {
			for _, c := range tokenCCs {
				out = append(out, 1e6*p99(rowOf(r, ccRun(r.Scale, c.Name, over)).fct()))
			}
			return out
		}
		r.Claim("all-flat", flat)
		lowest, highest := math.Inf(1), 0.
		for k := range pairs {
			mean := r.Cell(ccCell("dcqcn", oneWay)).Series(fmt.Sprintf("flow %d", k+1)).Y.Mean() /
				1e9
			lowest, highest = min(lowest, mean), max(highest, mean)
		}
		r.Note("all-flat", "the link is as full in each 100 µs, but DCQCN's windows differ: "+
			"flows have %.1f to %.1f Gb/s on average, and their order changes within "+
			"milliseconds. DCTCP's oscillate around equal shares", lowest, highest)
		r.Claim("drains", drains)
		waiting := func(name string) float64 {
			return r.Cell(ccCell(name, exactly)).Values("token queue").Mean() / 1e3
		}
		r.Note("drains", "at a round trip of 65 µs, in proportion to which TIMELY's thresholds "+
			"are: under TIMELY %.1f KB of tokens wait on average, without token CC %.1f, "+
			"under DCQCN %.1f", waiting("timely"), waiting("none"), waiting("dcqcn"))
		r.Claim("less-sensitive", most[true]/least[true]/(most[false]/least[false]))
		r.Note("less-sensitive", "p99 of DCQCN, DCTCP, Swift and TIMELY over tokens: %.0f, %.0f, "+
			"%.0f, %.0f µs; over data: %.0f, %.0f, %.0f, %.0f µs. TIMELY is the worst over both; "+
			"without it the ratio is %.2f",
			append(append(tails(true), tails(false)...), rest[true]/rest[false])...)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var names []string
		var tokens, data experiment.Values
		t := &figure.Table{
			Name: "bottleneck", Title: "Eight flows through one link under token CC",
			Header: []string{"token CC", "spread of rates (of the fair share)", "utilisation",
				"mean token queue (B)", "queue later, limiter at the data's rate (KB)"},
		}
		for _, name := range []string{"none", "dcqcn", "dctcp", "swift", "timely"} {
			one, exact := r.Cell(ccCell(name, oneWay)), r.Cell(ccCell(name, exactly))
			t.Row(name, fmt.Sprintf("%.2f", one.Values("spread").Mean()),
				fmt.Sprintf("%.3f", one.Values("util").Mean()),
				fmt.Sprintf("%.0f", one.Values("token queue").Mean()), fmt.Sprintf("%.0f",
					exact.Values("later").Mean()/1e3))
		}
		for _, c := range tokenCCs {
			names = append(names, c.Name)
			tokens = append(tokens, 1e6*p99(rowOf(r, ccRun(r.Scale, c.Name, true)).fct()))
			data = append(data, 1e6*p99(rowOf(r, ccRun(r.Scale, c.Name, false)).fct()))
		}
		mix := figure.Bars("mix", "Web Server and incasts", "p99 FCT (µs)",
			names...).Heights("over tokens", tokens...).Heights("over data", data...)
		return []figure.Figure{t, mix}
	},
}

func ccCell(name string, w way) string { return name + ", " + string(w) }

// ccMix is Web Server with incasts.
func ccMix(s experiment.Scale) run {
	n := networkAt(s, nb100)
	if s == experiment.Small {
		n = n.at(25 * units.Gbps)
	}
	return run{Network: n, Traffic: flows(s, webServer, 0.8, 20_000, 1000).mixed()}
}

func ccRun(s experiment.Scale, name string, tokens bool) run {
	m := ccMix(s)
	m.Scheme = scheme(name)
	if tokens {
		m.Scheme = "ToCC, " + m.Scheme
	}
	return m
}
