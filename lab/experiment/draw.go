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
