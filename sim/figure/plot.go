package figure

// Plot is a picture with two axes. Make one with [Lines], [Steps], [Points], [CDF] or [Bars].
type Plot struct {
	// of the file, without its suffix: lower-case letters, digits, dashes; the key of a report
	Name  string
	Title string
	X, Y  Axis

	kind   kind
	series []series
	groups []string // of Bars: text below each group
}

// Axis is one axis of a plot.
type Axis struct {
	Label    string  // quantity, and its unit in parentheses
	Log      bool    // values that are not positive are left out
	Min, Max float64 // both 0: the range of the data
}

type kind int

const (
	lines kind = iota
	steps
	points
	cdf
	bars
)

// series is the data of one entry of the legend. For Bars, x is empty; for CDF, y is.
type series struct {
	name      string
	x, y      []float64
	low, high []float64 // ends of ranges about y; nil without
}

// Lines returns a plot that joins its points, in the order given.
func Lines(name, title, x, y string) *Plot { return of(lines, name, title, x, y) }

// Steps returns a plot of values that hold until the next point, such as a queue.
func Steps(name, title, x, y string) *Plot { return of(steps, name, title, x, y) }

// Points returns a plot of separate points.
func Points(name, title, x, y string) *Plot { return of(points, name, title, x, y) }

// CDF returns a plot of distributions: above each value the fraction of samples up to it.
func CDF(name, title, x string) *Plot {
	p := of(cdf, name, title, x, "fraction of samples")
	p.Y.Max = 1
	return p
}

// Bars returns a plot of bars, one for each series in each group.
func Bars(name, title, y string, groups ...string) *Plot {
	p := of(bars, name, title, "", y)
	p.groups = groups
	return p
}

func of(k kind, name, title, x, y string) *Plot {
	return &Plot{Name: name, Title: title, X: Axis{Label: x}, Y: Axis{Label: y}, kind: k}
}

// Add adds a series of Lines, Steps or Points. A value that is not finite is a gap.
func (p *Plot) Add(series string, x, y []float64) *Plot {
	return p.add(series, x, y)
}

// Samples adds a distribution to a CDF.
func (p *Plot) Samples(series string, samples []float64) *Plot {
	return p.add(series, samples, nil)
}

// Heights adds a bar to each group of Bars. A height that is not finite is left out.
func (p *Plot) Heights(series string, heights ...float64) *Plot {
	return p.add(series, nil, heights)
}

// Range gives each point or bar of the series added last a range, such as that of its seeds. Lines
// and steps show it as a band, points and bars as an error bar.
func (p *Plot) Range(low, high []float64) *Plot {
	s := &p.series[len(p.series)-1]
	s.low, s.high = low, high
	return p
}

func (p *Plot) add(name string, x, y []float64) *Plot {
	p.series = append(p.series, series{name: name, x: x, y: y})
	return p
}
