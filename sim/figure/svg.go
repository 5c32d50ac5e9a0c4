package figure

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

var fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

func checkName(name string) error {
	if !fileName.MatchString(name) {
		return fmt.Errorf("figure: name %q: want lower-case letters, digits and dashes", name)
	}
	return nil
}

// Encode draws the plot as SVG.
func (p *Plot) Encode() (string, []byte, error) {
	if err := checkName(p.Name); err != nil {
		return "", nil, err
	}
	drawn, err := p.draw()
	if err != nil {
		return "", nil, fmt.Errorf("figure: %s: %w", p.Name, err)
	}
	return p.Name + ".svg", p.encode(drawn), nil
}

// draw adds the series to gonum's plot.
func (p *Plot) draw() (*plot.Plot, error) {
	if len(p.series) == 0 {
		return nil, errors.New("nothing to show")
	}
	g := newPlot()
	g.Title.Text, g.X.Label.Text, g.Y.Label.Text = inLines(p.Title, g), p.X.Label, p.Y.Label
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = grey, grey
	grid.Horizontal.Width, grid.Vertical.Width = vg.Points(0.5), vg.Points(0.5)
	if p.kind == bars {
		grid.Vertical.Width = 0
	}
	g.Add(grid)
	var err error
	for i := range p.series {
		switch p.kind {
		case bars:
			err = p.drawBars(g, i)
		case cdf:
			p.drawRuns(g, i, distribution(p.series[i].x), lineStyle(i), plotter.PostStep)
		default:
			err = p.drawLine(g, i)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.series[i].name, err)
		}
	}
	if err := p.Y.apply("Y", &g.Y); err != nil {
		return nil, err
	}
	if p.kind == bars {
		p.nameGroups(g)
		return g, nil
	}
	if err := p.X.apply("X", &g.X); err != nil {
		return nil, err
	}
	if !p.Y.Log && p.Y.Min == 0 && g.Y.Min > 0 {
		g.Y.Min = 0
	}
	return g, nil
}

// inLines breaks a title that is wider than the plot into lines that are not.
func inLines(title string, g *plot.Plot) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(title) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && g.Title.TextStyle.Width(longer) > plotWidth-4*margin {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	return strings.Join(append(lines, line), "\n")
}

// apply sets the scale and the limits of gonum's axis, which has the limits of the data.
func (a Axis) apply(name string, g *plot.Axis) error {
	if math.IsInf(g.Min, 0) || a.Log && g.Max <= 0 { // no data
		g.Min, g.Max = 1, 10
	}
	if a.Min != 0 || a.Max != 0 {
		g.Max = a.Max
		if a.Min != 0 || !a.Log {
			g.Min = a.Min
		}
	}
	if a.Log {
		if g.Min <= 0 && a.Min >= 0 { // bars stand on 0
			g.Min = math.Min(1, g.Max/10)
		}
		g.Scale, g.Tick.Marker = logScale{}, logTicks{}
	}
	if !(g.Min <= g.Max) || math.IsInf(g.Max-g.Min, 0) || a.Log && g.Min <= 0 {
		return fmt.Errorf("%s: limits %v and %v", name, g.Min, g.Max)
	}
	if middle := g.Min/2 + g.Max/2; g.Max-g.Min <= 1e-9*math.Abs(middle) { // too close for ticks
		g.Min, g.Max = middle-math.Abs(middle)/2, middle+math.Abs(middle)/2
	}
	if g.Min == g.Max {
		g.Min, g.Max = -1, 1
	}
	return nil
}

// logScale is gonum's, with everything below the axis at its lower end, where bars begin.
type logScale struct{ plot.LogScale }

func (s logScale) Normalize(low, high, x float64) float64 {
	return s.LogScale.Normalize(low, high, math.Max(x, low))
}

// encode writes the plot with its legend to the right, where it hides no data.
func (p *Plot) encode(g *plot.Plot) []byte {
	width := plotWidth
	if len(p.series) > 1 || p.series[0].name != "" {
		width += g.Legend.Rectangle(draw.Canvas{}).Size().X + 2*margin
	}
	svg := vgsvg.New(width, plotHeight)
	paint(draw.New(svg), g, width-plotWidth)
	var b bytes.Buffer
	svg.WriteTo(&b) // to memory: does not fail
	return finish(b.Bytes(), p.Title, p.metadata())
}

// paint draws a plot and, in a column of a width beside it, its legend.
func paint(c draw.Canvas, g *plot.Plot, column vg.Length) {
	c.SetColor(g.BackgroundColor)
	c.Fill(c.Rectangle.Path())
	legend := g.Legend
	g.Legend = plot.NewLegend()
	g.Draw(draw.Crop(c, margin, -margin-column, margin, -margin))
	if column > 0 {
		legend.Draw(draw.Crop(c, c.Max.X-column, -margin, 0, -10*margin/3))
	}
}

// finish adds what gonum omits: a title for screen readers, metadata, and fallback fonts.
func finish(svg []byte, title string, metadata []byte) []byte {
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	return bytes.Replace(svg, []byte("<g "),
		[]byte("<title>"+html.EscapeString(title)+"</title>\n"+string(metadata)+"<g "), 1)
}
