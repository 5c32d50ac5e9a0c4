package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
)

// row is what one run found, all seeds together: what claims and figures are made of.
type row struct{ experiment.Pool }

// rowOf is that of a run.
func rowOf(r *experiment.Results, of run) row { return row{r.Cell(of.name())} }

// fct is the completion times, in seconds, of flows of classes of size; of none, of all but
// incasts'.
func (r row) fct(classes ...string) experiment.Values { return r.pooled("", classes) }

// slowdown is the same times in multiples of the flow's alone.
func (r row) slowdown(classes ...string) experiment.Values { return r.pooled(" slowdown", classes) }

func (r row) pooled(what string, classes []string) (all experiment.Values) {
	if len(classes) == 0 {
		classes = bySize
	}
	for _, class := range classes {
		all = append(all, r.Values(class+what)...)
	}
	return all
}

// bufmax is the most that one switch ever held, in bytes, with any seed.
func (r row) bufmax() float64 { return r.Values("bufmax").Max() }

func mean(v experiment.Values) float64 { return v.Mean() }
func p99(v experiment.Values) float64  { return v.Percentile(99) }
