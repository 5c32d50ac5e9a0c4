package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// tokenRun is eight flows released by tokens, through the link of figure 7.
type tokenRun struct {
	Name string
	Spec string // of package tocc
	// Both adds as many flows in the other direction, whose tokens and ACKs take their share of the
	// link.
	Both bool
	// Exact limits tokens to releasing exactly what the link carries, which leaves nothing to
	// tokens of others.
	Exact   bool
	Until   units.Duration
	Marks   float64 // where switches mark tokens, relative to the recommendation; 0 means 1
	Limiter float64 // the tokens' share of links, relative to the correct one; 0 means 1
}

// twoPackets is K of figure 7's experiments: two packets of 1024 bytes, with which tokens take 4 %
// of a link; the paper's simulated tokens, one for each packet of 1500 bytes, take 5 %.
const twoPackets = "k=2048B"

// onTokens is DCQCN as token CC.
func (s dcqcnSet) onTokens() string { return "cc=" + s.text() }

func tokenCells(runs ...tokenRun) (out []experiment.Cell) {
	for _, r := range runs {
		out = append(out, experiment.Cell{Name: r.Name, Params: r})
	}
	return out
}

// tokenSwitch returns a switch of ToCC for tokens of a spec, with its recommendations scaled.
func tokenSwitch(spec tocc.Spec, path cc.Path, marks, limiter float64) (*fabric.SwitchConfig,
	error) {
	share, err := spec.Share(path)
	if err != nil {
		return nil, err
	}
	of := fabric.HomaSwitch() // no tokens to limit
	if share > 0 {
		of = fabric.ToCCSwitch(sim.TokenFrame, units.Bytes(sim.TokenFrame*(1-share)/share+0.5))
		of.TokenECN = marks
	}
	of.Buffer = units.Bytes(atRate(float64(of.Buffer), path.LineRate))
	s := of.Config()
	s.INT = true
	if queues := s.Queues; limiter > 0 {
		s.Queues = func(r units.BitRate) fabric.Queues {
			qs := queues(r)
			qs[tokens].Share *= limiter
			return qs
		}
	}
	return &s, nil
}

// pathOf returns the path for a flow of the micro-experiments.
func pathOf(c sim.Bottleneck) cc.Path {
	return cc.Path{LineRate: c.Rate, BaseRTT: baseRTT, Payload: payload}
}

// tokenFlows returns flows between pairs of hosts, those of the other direction last.
func tokenFlows(spec tocc.Spec, both bool) ([]sim.Flow, func(int) (int, int), error) {
	open, err := cc.Parse("fixed:window=1GB")
	if err != nil {
		return nil, nil, err
	}
	flow := sim.Flow{Control: open, Admission: spec}
	flows := sim.Many(pairs, flow)
	if both {
		flow.Back = true
		flows = append(flows, sim.Many(pairs, flow)...)
	}
	return flows, func(i int) (int, int) { return i % pairs, i % pairs }, nil
}

// runTokens simulates a run, and records the values of claims of figures 7, 12 and 13.
func runTokens(j *experiment.Job) error {
	p := j.Params.(tokenRun)
	spec, err := tocc.Parse(p.Spec)
	if err != nil {
		return err
	}
	return p.simulate(j, spec)
}

func (p tokenRun) simulate(j *experiment.Job, spec tocc.Spec) error {
	config := eightToOne(j, p.Until)
	flows, place, err := tokenFlows(spec, p.Both)
	if err != nil {
		return err
	}
	config.Place, config.Tokens = place, tokens
	share, err := spec.Share(pathOf(config))
	if err != nil {
		return err
	}
	if p.Exact {
		p.Limiter = 1 / (1 - share)
	}
	if config.Switch, err = tokenSwitch(spec, pathOf(config), p.Marks, p.Limiter); err != nil {
		return err
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	there := r.Traces[:pairs]
	from, end := units.Time(p.Until/2), units.Time(p.Until)
	util := utilisation(config, there, bin, units.Millisecond, p.Until)
	j.Value("spread", spread(rates(config, there, bin, 200*units.Microsecond, p.Until)))
	j.Value("util", util.Mean())
	j.Value("full", util.Percentile(5)/(1-share))
	j.Value("bufmax", float64(r.Totals.Fullest))
	j.Value("BDP", float64(config.Rate.Bytes(baseRTT)))
	j.Value("peak", r.Queues[0].Length.Max(0, end))
	j.Value("later", r.Queues[0].Length.Percentile(50, from, end))
	j.Value("mean queue", r.Queues[0].Length.Mean(units.Time(500*units.Microsecond), end))
	j.Value("p99 queue", r.Queues[0].Length.Percentile(99, units.Time(500*units.Microsecond), end))
	// a ms
	j.Value("excursions", excursions(r.Queues[0].Length, 500*units.Microsecond,
		p.Until)/(p.Until-500*units.Microsecond).Seconds()/1000)
	j.Value("dip", longestBelow(utilisation(config, there, bin/2, 500*units.Microsecond, p.Until),
		0.9, bin/2).Seconds())
	j.Value("token queue", r.Queues[1].Length.Mean(units.Time(500*units.Microsecond), end))
	j.Value("dropped", float64(r.Queues[0].Stats.Dropped))
	width := max(bin, p.Until/400)
	takeFlows(j, there, width, p.Until)
	j.Means("buffer", r.Stored, width, p.Until)
	j.Means("queue", r.Queues[0].Length, width/2, p.Until)
	j.Means("tokens", r.Queues[1].Length, width/2, p.Until)
	return nil
}

// excursions counts how often a queue exceeds three times its median plus three packets.
func excursions(queue *fabric.Series, from, to units.Duration) float64 {
	most := 3*queue.Percentile(50, units.Time(from), units.Time(to)) + 3*float64(packet)
	n, beyond := 0., false
	for i, at := range queue.Times {
		if at < units.Time(from) || at > units.Time(to) {
			continue
		}
		if now := queue.Values[i] > most; now != beyond {
			if beyond = now; now {
				n++
			}
		}
	}
	return n
}

// longestBelow returns the longest time for which values, of bins of a width, are below a limit.
func longestBelow(v experiment.Values, limit float64, width units.Duration) units.Duration {
	longest, run := 0, 0
	for _, x := range v {
		if run++; x >= limit {
			run = 0
		}
		longest = max(longest, run)
	}
	return units.Duration(longest) * width
}
