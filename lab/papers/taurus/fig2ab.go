package taurus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/sim/figure"
)

// offeredRates are rates of reports, M/s.
var offeredRates = []int{1, 2, 4, 8, 12}

// fig2ab: the cost of CCP to a datapath that really sends, its agent, and the reports that are
// lost.
var fig2ab = &experiment.Experiment{
	ID:    "taurus/fig2ab",
	Seeds: oneSeed,
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{{Name: "sending"}, {Name: "reports"}}
	},
	Run: func(j *experiment.Job) error {
		if j.Name == "reports" {
			var all []*contender
			for _, rate := range offeredRates {
				c, err := newReporter(fmt.Sprintf("%d", rate), 16, float64(rate)*1e6,
					benched("idctcp"))
				if err != nil {
					return err
				}
				all = append(all, c)
			}
			return measure(j, enoughAt(j.Scale), all...)
		}
		return sending(j)
	},
	Judge: func(r *experiment.Results) {
		sent, reported := r.Cell("sending"), r.Cell("reports")
		r.Claim("throughput", experiment.Each(servedFlows, func(flows int) float64 {
			return 1 - rate(sent, flows, "ccp")/rate(sent, flows, "in line")
		}))
		r.Note("throughput", "%s; packets of 4096 B, both ends on one core: in line %.3g Gb/s of "+
			"one flow and %.3g of 32, with a report each round trip %.3g and %.3g",
			conditions(sent),
			gbits(rate(sent, 1, "in line")), gbits(rate(sent, 32, "in line")),
			gbits(rate(sent, 1, "ccp-rtt")), gbits(rate(sent, 32, "ccp-rtt")))
		var lost []float64
		for _, offered := range offeredRates {
			lost = append(lost, reported.Values(fmt.Sprintf("%d lost", offered)).Percentile(50))
		}
		r.Claim("drops-grow", lost)
		r.Note("drops-grow", "%s; the agent takes %.3g M/s at most", conditions(reported),
			perSecond(reported, "12 messages")/1e6)
		r.Claim("cpu", cpu(sent, "32 ccp")/cpu(sent, "1 ccp"))
		r.Note("cpu", "%.3g %% of a core with one flow and %.3g %% with 32, which are %.3g and "+
			"%.3g M reports/s, %.0f and %.0f ns each: flows share a sending core, and more flows "+
			"do not make more reports. With a report each round trip %.3g and %.3g %%",
			100*cpu(sent, "1 ccp"), 100*cpu(sent, "32 ccp"), perSecond(sent, "1 ccp messages")/1e6,
			perSecond(sent, "32 ccp messages")/1e6,
			1e9*cpu(sent, "1 ccp")/perSecond(sent, "1 ccp messages"), 1e9*cpu(sent,
				"32 ccp")/perSecond(sent, "32 ccp messages"), 100*cpu(sent, "1 ccp-rtt"),
			100*cpu(sent, "32 ccp-rtt"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		sent, reported := r.Cell("sending"), r.Cell("reports")
		throughput := figure.Bars("throughput",
			"Both ends on one core, messages of a packet of 4096 B", "goodput (Gb/s)",
			texts(servedFlows, "%d flows")...)
		agents := figure.Bars("cpu", "CCP's agent: as busy as there are reports, of which many "+
			"flows make no more here", "busy share of its core (%)", texts(servedFlows,
			"%d flows")...)
		for _, way := range sendingWays {
			var goodputs, shares []float64
			for _, flows := range servedFlows {
				goodputs = append(goodputs, gbits(rate(sent, flows, way.name)))
				shares = append(shares, 100*cpu(sent, fmt.Sprintf("%d %s", flows, way.name)))
			}
			throughput.Heights(way.title, goodputs...)
			if way.program != "" {
				agents.Heights(way.title, shares...)
			}
		}
		drops := figure.Lines("drops", "Reports that CCP's agent does not hear, ring of 4096 slots",
			"offered (M/s)", "lost (%)")
		var x, y []float64
		for _, offered := range offeredRates {
			x = append(x, float64(offered))
			y = append(y, 100*reported.Values(fmt.Sprintf("%d lost", offered)).Percentile(50))
		}
		drops.Add("16 flows of iDCTCP", x, y)
		return []figure.Figure{throughput, agents, drops}
	},
}

// sendingWays are ways to control flows that really send.
var sendingWays = []struct{ name, title, program string }{
	{"in line", "in line", ""}, {"ccp", "CCP, a report each ACK", ccp.PerAck}, {"ccp-rtt",
		"CCP, a report each round trip", ccp.PerRTT},
}

// sending lets flows send under each of them.
func sending(j *experiment.Job) error {
	var all []*contender
	for _, flows := range servedFlows {
		for _, way := range sendingWays {
			c := &contender{name: fmt.Sprintf("%d %s", flows, way.name)}
			var controller cc.Controller = &cc.Inline{}
			if way.program != "" {
				ctl, agent, err := ccp.New(ccp.Config{Program: way.program}, false)
				if err != nil {
					return err
				}
				controller, c.agent, c.handled = ctl, agent, func() uint64 {
					return agent.Counters().Reports
				}
			}
			p, err := newPair(controller, flows, benched("idctcp"))
			if err != nil {
				return err
			}
			c.datapath = p
			all = append(all, c)
		}
	}
	if err := measure(j, enoughAt(j.Scale), all...); err != nil {
		return err
	}
	for _, c := range all {
		if err := c.datapath.(*pair).err; err != nil {
			return err
		}
	}
	return nil
}

func rate(p experiment.Pool, flows int, way string) float64 {
	return perSecond(p, fmt.Sprintf("%d %s rate", flows, way))
}

// gbits returns the goodput of full packets a second.
func gbits(packets float64) float64 { return packets * 8 * float64(mtu) / 1e9 }
