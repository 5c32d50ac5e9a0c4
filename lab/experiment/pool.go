package experiment

import (
	"fmt"
	"slices"
)

// Done is a job that ended without an error.
type Done struct {
	Cell
	Seed   uint64
	Record *Record
}

// Pool is a set of jobs of an experiment whose data are combined.
type Pool struct {
	Name   string // of the cell, if these are the jobs of one
	Params any    // of that cell

	jobs     []Done
	problems *problems
}

// Cells returns a pool for each cell, in the experiment's order.
func (p Pool) Cells() []Pool {
	var out []Pool
	for _, j := range p.jobs {
		i := slices.IndexFunc(out, func(q Pool) bool { return q.Name == j.Name })
		if i < 0 {
			i = len(out)
			out = append(out, Pool{Name: j.Name, Params: j.Params, problems: p.problems})
		}
		out[i].jobs = append(out[i].jobs, j)
	}
	return out
}

// Seeds returns a pool for each seed, in order, for comparisons seed by seed and for time series,
// of which a figure shows one.
func (p Pool) Seeds() []Pool {
	var seeds []uint64
	for _, j := range p.jobs {
		seeds = append(seeds, j.Seed)
	}
	slices.Sort(seeds)
	seeds = slices.Compact(seeds)
	out := make([]Pool, len(seeds))
	for i, s := range seeds {
		out[i] = Pool{Name: p.Name, Params: p.Params, problems: p.problems}
		for _, j := range p.jobs {
			if j.Seed == s {
				out[i].jobs = append(out[i].jobs, j)
			}
		}
	}
	return out
}

// Cell returns the jobs of the named cell. An unknown name is a mistake in the experiment, which
// fails.
func (p Pool) Cell(name string) Pool {
	for _, c := range p.Cells() {
		if c.Name == name {
			return c
		}
	}
	p.problems.add("no cell %q", name)
	return Pool{Name: name, problems: p.problems}
}

// Values returns the named values of all jobs, concatenated. A name that no job has is a mistake in
// the experiment, which fails; a name without numbers is not.
func (p Pool) Values(name string) Values {
	var out Values
	found := false
	for _, j := range p.jobs {
		for n, v := range j.Record.Values() {
			if n == name {
				out, found = append(out, v...), true
			}
		}
	}
	if !found {
		p.missing("values", name)
	}
	return out
}

// Series returns the named series of all jobs, concatenated. A name that no job has is a mistake,
// as for Values.
func (p Pool) Series(name string) Series {
	var out Series
	found := false
	for _, j := range p.jobs {
		for n, s := range j.Record.Series() {
			if n == name {
				out.X, out.Y, found = append(out.X, s.X...), append(out.Y, s.Y...), true
			}
		}
	}
	if !found {
		p.missing("series", name)
	}
	return out
}

func (p Pool) missing(what, name string) {
	switch {
	case len(p.jobs) == 0: // the cell does not exist, which has been reported
	case p.Name == "":
		p.problems.add("no %s %q", what, name)
	default:
		p.problems.add("no %s %q in cell %q", what, name, p.Name)
	}
}

// problems are the mistakes in an experiment, without duplicates.
type problems struct{ list []string }

func (p *problems) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(p.list, text) {
		p.list = append(p.list, text)
	}
}
