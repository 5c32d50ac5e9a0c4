package exchange

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goroce/goroce/lab/experiment"
)

// side is one of the two sides of an exchange: some cells, or some names in all cells.
type side struct{ cells, names []string }

// has reports whether values of a name in a cell belong to the side.
func (s side) has(cell, name string) bool {
	return slices.Contains(s.cells, cell) || slices.Contains(s.names, name)
}

// sides returns the two sides of an exchange of cells or of names.
func (x *exchange) sides(ofNames bool) (a, b side) {
	for _, p := range x.pairs {
		if ofNames {
			a.names, b.names = append(a.names, p[0]), append(b.names, p[1])
		} else {
			a.cells, b.cells = append(a.cells, p[0]), append(b.cells, p[1])
		}
	}
	return a, b
}

// partner returns the label that takes the place of one.
func (x *exchange) partner(label string) string {
	for _, p := range x.pairs {
		switch label {
		case p[0]:
			return p[1]
		case p[1]:
			return p[0]
		}
	}
	return label
}

// cells returns jobs with the records of the exchanged cells exchanged, seed by seed.
func (x *exchange) cells(jobs []experiment.Done) []experiment.Done {
	out := slices.Clone(jobs)
	for i, j := range jobs {
		from := slices.IndexFunc(jobs, func(other experiment.Done) bool {
			return other.Name == x.partner(j.Name) && other.Seed == j.Seed
		})
		if from >= 0 {
			out[i].Record = jobs[from].Record
		}
	}
	return out
}

// names returns jobs with the exchanged names exchanged, in records that have both.
func (x *exchange) names(jobs []experiment.Done) []experiment.Done {
	out := slices.Clone(jobs)
	for i, j := range jobs {
		has := map[string]bool{}
		for name := range j.Record.Values() {
			has["value "+name] = true
		}
		for name := range j.Record.Series() {
			has["series "+name] = true
		}
		renamed := func(kind, name string) string {
			if other := x.partner(name); has[kind+other] {
				return other
			}
			return name
		}
		r := &experiment.Record{}
		for name, v := range j.Record.Values() {
			r.Add(renamed("value ", name), v)
		}
		for name, s := range j.Record.Series() {
			r.AddSeries(renamed("series ", name), s)
		}
		out[i].Record = r
	}
	return out
}

// spread is how much varied numbers differ from the results.
type spread struct{ between, within float64 }

// spreads are a small and a large variation: a metric may be constant in either.
var spreads = []spread{{0.2, 0.05}, {2, 0.5}}

// varied returns jobs with other numbers of some names of some cells: each name in each cell
// differs from all others, by as much as the spread, and so do the numbers in it.
func (s spread) varied(jobs []experiment.Done, salt string, of func(cell, name string) bool,
) []experiment.Done {
	out := slices.Clone(jobs)
	for i, j := range jobs {
		r := &experiment.Record{}
		vary := func(name string, v experiment.Values) experiment.Values {
			if !of(j.Name, name) {
				return v
			}
			return s.vary(v, salt+"\x00"+j.Name+"\x00"+name, j.Seed)
		}
		for name, v := range j.Record.Values() {
			r.Add(name, vary(name, v))
		}
		for name, c := range j.Record.Series() {
			r.AddSeries(name, experiment.Series{X: c.X, Y: vary(name, c.Y)})
		}
		out[i].Record = r
	}
	return out
}

// vary returns other numbers, which depend on the key and the seed.
func (s spread) vary(v experiment.Values, key string, seed uint64) experiment.Values {
	h := fnv.New64a()
	h.Write([]byte(key)) // cannot fail
	random := rand.New(rand.NewPCG(h.Sum64(), seed))
	factor := math.Exp(s.between * (2*random.Float64() - 1))
	out := make(experiment.Values, len(v))
	for i, x := range v {
		if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			x = 1
		}
		out[i] = x * factor * math.Exp(s.within*(2*random.Float64()-1))
	}
	return out
}
