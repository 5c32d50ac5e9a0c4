package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

func prioPlusHomaSetting(s experiment.Scale) setting {
	m := setting{networkAt(s, nb100), flows(s, webSearch, 0.7, 1500, 300)}
	if s == experiment.Small {
		m.Network = m.Network.at(25 * units.Gbps)
	}
	return m
}

var prioritised = []scheme{homaTwo, homa, virtual, scheduled}

// prioPlusHoma: Homa's priorities are queues, PrioPlus's are channels on the delay of tokens in one
// queue.
var prioPlusHoma = &experiment.Experiment{
	ID: "beyond/prioplus-homa",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return prioPlusHomaSetting(s).cells(prioritised...)
	},
	Run: func(j *experiment.Job) error {
		out, err := served(j)
		if err == nil {
			j.Value("released", releasedBy(out.TokenQueue))
		}
		return err
	},
	Judge: func(r *experiment.Results) {
		m := prioPlusHomaSetting(r.Scale)
		small := func(x scheme) float64 { return p99(m.row(r, x).slowdown("tiny", "small")) }
		r.Claim("between", small(virtual)/small(homaTwo))
		r.Note("between", "99th percentiles of slowdown below 100 KB: Homa %s with two "+
			"priorities and %s with eight, ToCC %s with PrioPlus and %s with DCQCN: small flows "+
			"of Homa need no token, while here they wait a round trip for "+
			"theirs", digitsText(small(homaTwo)),
			digitsText(small(homa)), digitsText(small(virtual)), digitsText(small(scheduled)))
		if r.Scale == experiment.Full {
			r.Claim("buffer", m.row(r, homa).bufmax()/m.row(r, virtual).bufmax())
			waiting := func(x scheme) string {
				return digitsText(m.row(r, x).Values("released").Max() / 1000)
			}
			kb := func(x scheme) string { return digitsText(m.row(r, x).bufmax() / 1000) }
			r.Note("buffer", "Homa with eight priorities holds %s KB at most, ToCC with PrioPlus "+
				"%s and with DCQCN %s. Nothing is unscheduled, but TOKENs that waited in a queue "+
				"release data at other times than they were spaced for: those of the longest "+
				"queue release %s KB with PrioPlus, whose channels are queues of TOKENs, and %s "+
				"with DCQCN, which keeps these short", kb(homa), kb(virtual), kb(scheduled),
				waiting(virtual), waiting(scheduled))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := prioPlusHomaSetting(r.Scale)
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, Web Search at 0.7", prioritised,
				meanFCT),
			m.bars(r, "p99", "99th percentile by class, Web Search at 0.7", prioritised, p99FCT),
			tokenTable(r, "Priorities: queues for data, and channels on the delay of tokens",
				prioritised, m),
		}
	},
}

// releasedBy returns the bytes of data that the TOKENs of a queue release.
func releasedBy(queue units.Bytes) float64 {
	const data = 2048 // bytes that a TOKEN releases: tokenSet
	return float64(queue) / float64(tocc.TokenWire-preambleAndGap) * data
}
