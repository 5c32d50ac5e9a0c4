package tocc

import (
	"fmt"

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
	RTT     units.Duration
	Marking tokenMarking
	Limiter float64 // the tokens' share of links, relative to the correct one; 0 means 1
}

// near is the same run with the round trip of the leaf-spine networks.
func (p tokenRun) near() tokenRun {
	p.RTT = baseRTT
	p.Name += fmt.Sprintf(", RTT %v", p.RTT)
	return p
}

// doubly is the same run with the token thresholds scaled down twice.
func (p tokenRun) doubly() tokenRun {
	p.Marking.Misread = true
	p.Name += ", threshold of data"
	return p
}

// tokenMarking is where switches mark tokens and data. The zero value is the recommendation.
type tokenMarking struct {
	Factor  float64 // token thresholds, relative to the recommendation; 0 means 1
	Misread bool    // the recommendation is of data; tokens have as many bytes of data
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

// tokenSwitch returns a switch of ToCC for tokens of a spec. Limiter, unless 0, scales their share.
func tokenSwitch(spec tocc.Spec, path cc.Path, m tokenMarking, limiter float64) (
	*fabric.SwitchConfig, error) {
	share, err := spec.Share(path)
	if err != nil {
		return nil, err
	}
	of := fabric.HomaSwitch() // no tokens to limit
	if share > 0 {
		of = fabric.ToCCSwitch(sim.TokenFrame, units.Bytes(sim.TokenFrame*(1-share)/share+0.5))
	}
	of.Buffer = units.Bytes(atRate(float64(of.Buffer), path.LineRate))
	s := of.Config()
	if share > 0 {
		s = m.mark(of)
	}
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

// mark returns the configuration of a switch of tokens with the thresholds.
func (m tokenMarking) mark(of fabric.TokenSwitch) fabric.SwitchConfig {
	if of.TokenECN = m.Factor; m.Misread {
		of.ECN = misread.ecn(100 * units.Gbps)
		return of.Config()
	}
	of.ECN = dataMarks.ecn(100 * units.Gbps)
	s := of.Config()
	queues := s.Queues
	s.Queues = func(r units.BitRate) fabric.Queues {
		qs := queues(r)
		for _, i := range of.Tokens {
			if qs[i].ECN = tokenMarks.ecn(r); m.Factor > 0 {
				qs[i].ECN = qs[i].ECN.Scale(m.Factor)
			}
		}
		return qs
	}
	return s
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

// settled is when the unscheduled packets have left: eight BDPs of 65 µs take half a millisecond,
// and token CC reacts to them for as long again.
func (p tokenRun) settled() units.Duration {
	if p.RTT == baseRTT {
		return 500 * units.Microsecond
	}
	return 2 * units.Millisecond
}

// runTokens simulates a run, and records the values of claims of figures 7, 12 and 13.
func runTokens(j *experiment.Job) error {
	p := j.Params.(tokenRun)
	spec, err := tocc.Parse(p.Spec)
	if err != nil {
		return err
	}
	return shared(j, func(j *experiment.Job) error { return p.simulate(j, spec) })
}

func (p tokenRun) simulate(j *experiment.Job, spec tocc.Spec) error {
	config := eightToOne(j, p.Until)
	config.Delay = linkDelay(config.Rate, p.RTT)
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
	if config.Switch, err = tokenSwitch(spec, pathOf(config), p.Marking, p.Limiter); err != nil {
		return err
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	there := r.Traces[:pairs]
	from, end := units.Time(p.Until/2), units.Time(p.Until)
	settled := p.settled()
	util := utilisation(config, there, bin, units.Millisecond, p.Until)
	j.Value("spread", spread(rates(config, there, bin, 200*units.Microsecond, p.Until)))
	j.Value("util", util.Mean())
	j.Value("full", util.Percentile(5)/(1-share))
	j.Value("bufmax", float64(r.Totals.Fullest))
	j.Value("BDP", float64(config.Rate.Bytes(p.RTT)))
	j.Value("peak", r.Queues[0].Length.Max(0, end))
	j.Value("later", r.Queues[0].Length.Percentile(50, from, end))
	j.Value("mean queue", r.Queues[0].Length.Mean(units.Time(settled), end))
	j.Value("median queue", r.Queues[0].Length.Percentile(50, units.Time(settled), end))
	j.Value("p99 queue", r.Queues[0].Length.Percentile(99, units.Time(settled), end))
	// a ms
	j.Value("excursions", excursions(r.Queues[0].Length, settled,
		p.Until)/(p.Until-settled).Seconds()/1000)
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
