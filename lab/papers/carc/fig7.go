package carclab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// loose is one server that consumes data of one client with a number of credits.
type loose struct {
	Mode    string
	Message units.Bytes
	Credits carc.Lines
	Delta   string
	Steps   bool // v2 halves and doubles, for the estimate
}

func (l loose) name() string {
	steps := ""
	if l.Steps {
		steps = ", v2 in steps"
	}
	return fmt.Sprintf("%s, %dB, C=%d, delta=%s%s", l.Mode, int64(l.Message), l.Credits, l.Delta,
		steps)
}

const (
	// The figure's credits: those of 12 MiB for 1000 connections, of which one sends. A message may
	// take the credits of a round: no second one has credits before it is consumed, and a second
	// one has with δ.
	fig7Cache   = 12 * units.MiB
	fig7Credits = 196
	fig7Round   = 12 * units.KiB
)

var (
	fig7Messages = []units.Bytes{1024, 4096, 8192, fig7Round}
	fig7Modes    = []string{"oneway", "rr"}
	fig7Grid     = struct{ credits, delta []carc.Lines }{[]carc.Lines{64, 96, 128, fig7Credits,
		256}, []carc.Lines{0, 32, 64, 128, 192}}
)

// fig7: a server that consumes 10 Gb/s, at the distance from its client that its credits cover.
var fig7 = &experiment.Experiment{
	ID:    "carc/fig7",
	Seeds: oneSeed,
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		add := func(l loose) { out = append(out, experiment.Cell{Name: l.name(), Params: l}) }
		for _, mode := range fig7Modes {
			for _, m := range fig7Messages {
				add(loose{mode, m, fig7Credits, "off", false})
				add(loose{mode, m, fig7Credits, "auto", false})
			}
		}
		for _, c := range fig7Grid.credits {
			for _, d := range fig7Grid.delta {
				add(loose{"rr", 1024, c, fmt.Sprint(int(d)), false})
			}
		}
		add(loose{"rr", 4096, fig7Credits, "auto", true})
		add(loose{"oneway", 4096, fig7Credits, "auto", true})
		return out
	},
	Run: func(j *experiment.Job) error { return j.Params.(loose).run(j) },
	Judge: func(r *experiment.Results) {
		at := func(mode string, m units.Bytes, delta string) float64 {
			return r.Cell(loose{mode, m, fig7Credits, delta, false}.name()).Values("idle")[0]
		}
		basic, loosened := math.Inf(1), 0.
		for _, mode := range fig7Modes {
			basic = min(basic, at(mode, fig7Round, "off"))
			loosened = max(loosened, at(mode, fig7Round, "auto"))
		}
		r.Claim("idle-basic", basic)
		r.Note("idle-basic", "for messages that take the credits of a round, as in the figure's "+
			"drawing: C is v2·RTT, so that with messages of 1 KB, whose credits are returned "+
			"one by one, the server idles for %.0f %% of the time without "+
			"δ", 100*at("rr", 1024, "off"))
		r.Claim("idle-loose", loosened)
		worst := 0.
		for _, c := range fig7Grid.credits {
			for _, d := range fig7Grid.delta {
				cell := r.Cell(loose{"rr", 1024, c, fmt.Sprint(int(d)), false}.name())
				worst = max(worst, math.Abs(cell.Values("goodput")[0]/cell.Values("formula")[0]-1))
			}
		}
		r.Claim("formula", worst)
		if r.Scale == experiment.Full {
			r.Claim("estimate",
				r.Cell(loose{"rr", 4096, fig7Credits, "auto", true}.name()).Values("error").Mean())
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "idle",
			Title: "Share of time that the server idles, C = 196 lines, v2·RTT = 195 lines",
			Header: []string{"message", "one-way, δ = 0", "one-way, δ", "request-response, δ = 0",
				"request-response, δ"}}
		for _, m := range fig7Messages {
			row := []any{fmt.Sprintf("%d B", int64(m))}
			for _, mode := range fig7Modes {
				for _, d := range []string{"off", "auto"} {
					row = append(row,
						r.Cell(loose{mode, m, fig7Credits, d, false}.name()).Values("idle")[0])
				}
			}
			t.Row(row...)
		}
		grid := figure.Lines("formula", "Goodput over credits, messages of 1 KB; formula dashed",
			"C + δ (lines)", "goodput (share of v2)")
		var x, y, z experiment.Values
		for _, c := range fig7Grid.credits {
			for _, d := range fig7Grid.delta {
				cell := r.Cell(loose{"rr", 1024, c, fmt.Sprint(int(d)), false}.name())
				x, y, z = append(x, float64(c+d)), append(y, cell.Values("goodput")[0]), append(z,
					cell.Values("formula")[0])
			}
		}
		grid.Add("measured", x, y)
		grid.Add("min(v2, (C+δ)·line/(RTT+p))", x, z)
		out := []figure.Figure{t, grid}
		for _, mode := range fig7Modes {
			c := r.Cell(loose{mode, 4096, fig7Credits, "auto", true}.name())
			f := figure.Lines("estimate-"+mode, "v2·RTT as "+map[string]string{"rr": "the client",
				"oneway": "the server"}[mode]+" finds it", "time (ms)", "lines")
			for _, name := range []string{"estimate", "δ", "v2·RTT"} {
				c.Series(name).Scaled(1e3, 1).Draw(f, name)
			}
			out = append(out, f)
		}
		return out
	},
}

// run simulates one client and its server. At small scale all but lines is twenty times as slow.
func (l loose) run(j *experiment.Job) error {
	slow := experiment.At(j.Scale, 1, 20)
	v2 := 10 * gbps / units.BitRate(slow)
	rtt, until, settled := 10*us*units.Duration(slow), 5*ms*units.Duration(slow)/2,
		ms*units.Duration(slow)/2
	if j.Scale == experiment.Full {
		until, settled = 10*ms, ms
	}
	if l.Steps {
		until = experiment.At(j.Scale, 10*ms, 20*ms)
	}
	spec, err := carc.Parse(fmt.Sprintf("llc=%dB,line=64B,mode=%s,delta=%s", int64(fig7Cache),
		l.Mode, l.Delta))
	if err != nil {
		return err
	}
	b := &testbed{
		senders: 1, rate: experiment.At(j.Scale, 200*gbps, 10*gbps), baseRTT: rtt,
		message: l.Message, deep: 64, seed: j.Seed, mtu: 1024,
		credits: &spec, silent: int(fig7Cache/64/units.Bytes(l.Credits)) - 1, v2: always(v2),
		until: until,
	}
	if l.Mode == "rr" {
		b.response = 32
	}
	if l.Steps {
		l.steps(j, b, v2, rtt)
	}
	var idle units.Duration
	var before uint64
	b.watch = append(b.watch, func() {
		b.at(settled, func() { idle, before = b.idled(), b.Result().Messages[0].Consumed })
	})
	if err := b.run(j.Context()); err != nil {
		return err
	}
	took := until - settled
	j.Value("idle", float64(b.idled()-idle)/float64(took))
	j.Value("goodput",
		float64(units.RateOf(units.Bytes(b.Result().Messages[0].Consumed-before), took))/
			float64(v2))
	if l.Delta != "auto" && l.Delta != "off" {
		var d int64
		fmt.Sscan(l.Delta, &d)
		service := v2.Duration(l.Message)
		j.Value("formula",
			min(1, float64(units.RateOf(units.Bytes((int64(l.Credits)+d)*64),
				b.BaseRTT(0, 1)+service))/float64(v2)))
	}
	return nil
}

// steps halves and doubles v2 each millisecond, and compares the estimate 100 us later.
func (l loose) steps(j *experiment.Job, b *testbed, full units.BitRate, rtt units.Duration) {
	slow := rtt / (10 * us)
	step := ms * slow
	estimate, delta, truth := j.Series("estimate"), j.Series("δ"), j.Series("v2·RTT")
	b.v2 = func(at units.Duration) units.BitRate {
		return full / units.BitRate(1+min(at, b.until-1)/step%2)
	}
	need := func() float64 {
		return float64(b.v2(b.Net.Now().Sub(b.Zero())).Bytes(rtt)) / 64
	}
	find := func() float64 {
		if l.Mode == "rr" {
			return float64(b.gates[0].Estimate())
		}
		return float64(b.grants[0].Estimate())
	}
	b.watch = append(b.watch, func() {
		b.Net.Every(20*us*slow, func(now units.Time) bool {
			at := now.Sub(b.Zero()).Seconds()
			estimate.Add(at, find())
			truth.Add(at, need())
			delta.Add(at, float64(b.gates[0].Delta()+b.grants[0].Delta()))
			return true
		})
		b.between(span{step + 100*us*slow, b.until + 100*us*slow}, step, func() {
			j.Value("error", math.Abs(find()-need())/need())
		})
	})
}
