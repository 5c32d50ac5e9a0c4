package exchange

import (
	"slices"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
)

// Test judges the claims that hold again with exchanged results, and sets the Exchange of verdicts:
// the first exchange after which the claim fails or, if there is none, the first that tests it. It
// stays nil if no exchange tests the claim.
func Test(x *experiment.Experiment, e *claims.Experiment, s experiment.Scale,
	jobs []experiment.Done, verdicts []claims.Verdict) {
	t := &test{Experiment: x, scale: s, jobs: jobs}
	for i := range verdicts {
		if v := &verdicts[i]; v.Outcome() == claims.Holds {
			t.open = append(t.open, &claim{&e.Claims[i], v})
		}
	}
	if len(t.open) == 0 {
		return
	}
	cells, names := labels(jobs)
	for _, swap := range exchanges(cells, anyCells) {
		t.try(swap, false)
	}
	for _, swap := range exchanges(names, oneWord) {
		t.try(swap, true)
	}
}

// anyCells accepts all pairs of cells.
func anyCells([]string, []string, int) bool { return true }

// oneWord accepts pairs of names that differ in a word and have another in common: "rate on" and
// "rate off" are of one quantity, "rate" and "loss" are not.
func oneWord(a, b []string, common int) bool {
	return len(a) == 1 && len(b) == 1 && common > 0
}

// labels returns the names of the cells, and those of their values and series.
func labels(jobs []experiment.Done) (cells, names []string) {
	add := func(to *[]string, label string) {
		if !slices.Contains(*to, label) {
			*to = append(*to, label)
		}
	}
	for _, j := range jobs {
		add(&cells, j.Name)
		for name := range j.Record.Values() {
			add(&names, name)
		}
		for name := range j.Record.Series() {
			add(&names, name)
		}
	}
	return cells, names
}

// test is the state of Test.
type test struct {
	*experiment.Experiment
	scale experiment.Scale
	jobs  []experiment.Done
	base  []sample // of jobs, for each of spreads
	open  []*claim // those that have not failed yet
}

// sample are jobs, and the values of claims computed from them.
type sample struct {
	jobs   []experiment.Done
	values map[string]claims.Value
}

type claim struct {
	*claims.Claim
	verdict *claims.Verdict
}

// try judges the open claims with results exchanged.
func (t *test) try(swap *exchange, ofNames bool) {
	if len(t.open) == 0 {
		return
	}
	exchanged := swap.cells
	if ofNames {
		exchanged = swap.names
	}
	values := t.values(exchanged(t.jobs))
	compares := t.comparing(swap, ofNames, exchanged)
	t.open = slices.DeleteFunc(t.open, func(c *claim) bool {
		if !compares(c) {
			return false
		}
		value := values[c.Short()]
		holds, err := c.At(t.scale).Judge(value)
		if err != nil {
			return false // it cannot be computed from these results
		}
		if c.verdict.Exchange == nil || !holds {
			c.verdict.Exchange = &claims.Exchange{Of: swap.String(), Value: value, Holds: holds}
		}
		return !holds
	})
}

// comparing returns a function that reports whether a claim compares the sides of an exchange.
func (t *test) comparing(swap *exchange, ofNames bool,
	exchanged func([]experiment.Done) []experiment.Done) func(*claim) bool {
	if t.base == nil {
		for _, s := range spreads {
			jobs := s.varied(t.jobs, "", func(string, string) bool { return true })
			t.base = append(t.base, sample{jobs, t.values(jobs)})
		}
	}
	a, b := swap.sides(ofNames)
	var changed [3][]map[string]claims.Value // by a, by b, and by the exchange; for each of spreads
	for i, s := range spreads {
		base := t.base[i].jobs
		for k, jobs := range [][]experiment.Done{
			s.varied(base, "a", a.has), s.varied(base, "b", b.has), exchanged(base),
		} {
			changed[k] = append(changed[k], t.values(jobs))
		}
	}
	return func(c *claim) bool {
		for _, values := range changed {
			different := false
			for i := range spreads {
				before, after := t.base[i].values[c.Short()], values[i][c.Short()]
				different = different || !c.At(t.scale).Same(before, after)
			}
			if !different {
				return false
			}
		}
		return true
	}
}

// values returns the values of claims from jobs. Judge was written for results: after a panic on
// others, the claims that follow have no value.
func (t *test) values(jobs []experiment.Done) (values map[string]claims.Value) {
	r := experiment.NewResults(t.scale, jobs)
	defer func() {
		recover()
		values, _, _ = r.Verdicts()
	}()
	t.Judge(r)
	return nil
}
