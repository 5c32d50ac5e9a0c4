package experiment

import "github.com/goroce/goroce/sim/figure"

// Draw adds the points to a plot.
func (s Series) Draw(p *figure.Plot, name string) { p.Add(name, s.X, s.Y) }

// Curves adds a series of each cell to a plot, that of the first seed, in units of which kx and ky
// are one of its own.
func (p Pool) Curves(plot *figure.Plot, series string, kx, ky float64) *figure.Plot {
	for _, c := range p.Cells() {
		c.Seeds()[0].Series(series).Scaled(kx, ky).Draw(plot, c.Name)
	}
	return plot
}

// Distributions adds the values of each cell to a CDF, in a unit of which k are one of theirs.
func (p Pool) Distributions(plot *figure.Plot, values string, k float64) *figure.Plot {
	for _, c := range p.Cells() {
		plot.Samples(c.Name, c.Values(values).Scaled(k))
	}
	return plot
}

// Measures are numbers computed from cells, for a figure, each with its range over the seeds.
type Measures struct{ y, low, high Values }

// Add adds the number that of computes from the data of all seeds. Its range includes it and the
// numbers computed from one seed each.
func (m *Measures) Add(cell Pool, of func(Pool) float64) {
	y := of(cell)
	low, high := y, y
	for _, seed := range cell.Seeds() {
		x := of(seed)
		low, high = min(low, x), max(high, x)
	}
	m.y, m.low, m.high = append(m.y, y), append(m.low, low), append(m.high, high)
}

// Line adds the numbers to a plot, above x. It shows ranges if there are any.
func (m *Measures) Line(plot *figure.Plot, name string, x []float64) {
	m.ranges(plot.Add(name, x, m.y))
}

// Bars adds the numbers to a plot as the heights of bars. It shows ranges if there are any.
func (m *Measures) Bars(plot *figure.Plot, name string) { m.ranges(plot.Heights(name, m.y...)) }

func (m *Measures) ranges(plot *figure.Plot) {
	for i, low := range m.low {
		if low < m.high[i] {
			plot.Range(m.low, m.high)
			return
		}
	}
}
