package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
)

// row is the result of one run, all seeds together, of which claims and figures are computed.
type row struct{ experiment.Pool }

// rowOf returns the row of a run.
func rowOf(r *experiment.Results, of run) row { return row{r.Cell(of.name())} }

// fct returns the completion times, in seconds, of flows of classes of size; without classes, of
// all but incasts'.
func (r row) fct(classes ...string) experiment.Values { return r.pooled("", classes) }

// slowdown returns the same times in multiples of the flow's time alone.
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

// bufmax returns the most that one switch ever held, in bytes, with any seed.
func (r row) bufmax() float64 { return r.Values("bufmax").Max() }

func mean(v experiment.Values) float64 { return v.Mean() }
func p99(v experiment.Values) float64  { return v.Percentile(99) }
