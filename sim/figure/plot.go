package figure

// Plot is a picture with two axes. Make one with [Lines], [Steps], [Points], [CDF] or [Bars].
type Plot struct {
	// of the file, without its ending: lower-case letters, digits, dashes; a report goes by it
	Name  string
	Title string
	X, Y  Axis

	kind   kind
	series []series
	groups []string // of Bars: what stands below each group
}

// Axis is one axis of a plot.
type Axis struct {
	Label    string  // what, and its unit in parentheses
	Log      bool    // what is not positive is left out
	Min, Max float64 // both 0: what the data need
}

type kind int

const (
	lines kind = iota
	steps
	points
	cdf
	bars
)

// series is what one entry of the legend shows. Of Bars, x is empty; of CDF, y is.
type series struct {
	name string
	x, y []float64
}

// Lines makes a plot that joins its points, in the order given.
func Lines(name, title, x, y string) *Plot { return of(lines, name, title, x, y) }

// Steps makes a plot of what holds its value until the next point, as a queue does.
func Steps(name, title, x, y string) *Plot { return of(steps, name, title, x, y) }

// Points makes a plot of points that nothing joins.
func Points(name, title, x, y string) *Plot { return of(points, name, title, x, y) }

// CDF makes a plot of distributions: above each value the fraction of samples up to it.
func CDF(name, title, x string) *Plot {
	p := of(cdf, name, title, x, "fraction of samples")
	p.Y.Max = 1
	return p
}

// Bars makes a plot of bars, one for each series in each group.
func Bars(name, title, y string, groups ...string) *Plot {
	p := of(bars, name, title, "", y)
	p.groups = groups
	return p
}

func of(k kind, name, title, x, y string) *Plot {
	return &Plot{Name: name, Title: title, X: Axis{Label: x}, Y: Axis{Label: y}, kind: k}
}

// Add adds a series of Lines, Steps or Points. What is not finite is a gap.
func (p *Plot) Add(series string, x, y []float64) *Plot {
	return p.add(series, x, y)
}

// Samples adds a distribution to a CDF.
func (p *Plot) Samples(series string, samples []float64) *Plot {
	return p.add(series, samples, nil)
}

// Heights adds a bar to each group of Bars. One that is not finite is left out.
func (p *Plot) Heights(series string, heights ...float64) *Plot {
	return p.add(series, nil, heights)
}

func (p *Plot) add(name string, x, y []float64) *Plot {
	p.series = append(p.series, series{name, x, y})
	return p
}
