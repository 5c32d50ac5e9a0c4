package figure

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot/plotter"
)

// Data is what a plot shows, as numbers. An SVG carries it as metadata, for programs that draw the
// plot in their own way. Long lines are thinned, and numbers have five digits.
type Data struct {
	Kind   string       `json:"kind"` // lines, steps, points, cdf or bars
	Title  string       `json:"title"`
	X      AxisData     `json:"x"`
	Y      AxisData     `json:"y"`
	Groups []string     `json:"groups,omitempty"` // of bars
	Series []SeriesData `json:"series"`
}

// AxisData is an axis. Without limits, it has the range of the data.
type AxisData struct {
	Label string  `json:"label"`
	Log   bool    `json:"log,omitempty"`
	Min   float64 `json:"min,omitempty"`
	Max   float64 `json:"max,omitempty"`
}

// SeriesData is an entry of the legend: points, or the heights of bars, which have no X. Low and
// High are the ends of ranges about Y, if there are any.
type SeriesData struct {
	Name string  `json:"name"`
	X    Numbers `json:"x,omitempty"`
	Y    Numbers `json:"y"`
	Low  Numbers `json:"low,omitempty"`
	High Numbers `json:"high,omitempty"`
}

// Numbers are encoded with five digits; null is a number that is not finite.
type Numbers []float64

var kindNames = map[kind]string{lines: "lines", steps: "steps", points: "points", cdf: "cdf",
	bars: "bars"}

// Data returns what the plot shows.
func (p *Plot) Data() *Data {
	d := &Data{Kind: kindNames[p.kind], Title: p.Title, X: p.X.data(), Y: p.Y.data(),
		Groups: p.groups, Series: []SeriesData{}}
	for _, s := range p.series {
		out := SeriesData{Name: s.name, Y: s.y, Low: s.low, High: s.high}
		switch p.kind {
		case bars:
		case points:
			out.X = s.x
		case cdf:
			out.X, out.Y = coordinates(thinTo(distribution(s.x), dataPoints))
		default:
			out.X = s.x
			if len(s.x) > dataPoints && len(s.x) == len(s.y) && s.low == nil {
				out.X, out.Y = p.thinned(s)
			}
		}
		d.Series = append(d.Series, out)
	}
	return d
}

// dataPoints is the number of points of a line in Data.
const dataPoints = 500

// thinned returns the points of a long line, in runs that a gap separates.
func (p *Plot) thinned(s series) (x, y Numbers) {
	pts := make(plotter.XYs, len(s.x))
	for k := range s.x {
		pts[k] = plotter.XY{X: s.x[k], Y: s.y[k]}
	}
	for run := range runs(pts, p.drawable) {
		if len(x) > 0 {
			x, y = append(x, run[0].X), append(y, math.NaN())
		}
		xs, ys := coordinates(thinTo(run, max(dataPoints*len(run)/len(pts), 8)))
		x, y = append(x, xs...), append(y, ys...)
	}
	return x, y
}

func coordinates(pts plotter.XYs) (x, y Numbers) {
	x, y = make(Numbers, len(pts)), make(Numbers, len(pts))
	for i, p := range pts {
		x[i], y[i] = p.X, p.Y
	}
	return x, y
}

func (a Axis) data() AxisData { return AxisData(a) }

// MarshalJSON encodes the numbers.
func (n Numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, x, 'g', 5, 64)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var in []*float64
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*n = make(Numbers, len(in))
	for i, x := range in {
		(*n)[i] = math.NaN()
		if x != nil {
			(*n)[i] = *x
		}
	}
	return nil
}

// metadata returns the data as an element of an SVG.
func (p *Plot) metadata() []byte {
	d := p.Data()
	for _, a := range []*AxisData{&d.X, &d.Y} {
		if math.IsInf(a.Min-a.Max, 0) || math.IsNaN(a.Min-a.Max) {
			a.Min, a.Max = 0, 0 // JSON has no such limits
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil // it has finite numbers and texts only
	}
	var b bytes.Buffer
	b.WriteString("<metadata>")
	xml.EscapeText(&b, text) // to memory: does not fail
	b.WriteString("</metadata>\n")
	return b.Bytes()
}

// ErrNoData is the error of ParseData on an SVG without data.
var ErrNoData = errors.New("figure: the SVG has no data")

// ParseData returns the data of an SVG that Plot.Encode made.
func ParseData(svg []byte) (*Data, error) {
	var doc struct {
		Metadata string `xml:"metadata"`
	}
	if err := xml.Unmarshal(svg, &doc); err != nil {
		return nil, fmt.Errorf("figure: data: %w", err)
	}
	if doc.Metadata == "" {
		return nil, ErrNoData
	}
	d := &Data{}
	if err := json.Unmarshal([]byte(doc.Metadata), d); err != nil {
		return nil, fmt.Errorf("figure: data: %w", err)
	}
	return d, nil
}
