package figure

import (
	"fmt"
	"math"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawBars draws series i of Bars: beside those of the other series, in each group.
func (p *Plot) drawBars(g *plot.Plot, i int) error {
	heights := p.series[i].y
	if len(heights) != len(p.groups) {
		return fmt.Errorf("%d bars for %d groups", len(heights), len(p.groups))
	}
	values := make(plotter.Values, len(heights))
	for k, h := range heights {
		if drawable(h) {
			values[k] = h
		}
	}
	const room = plotWidth * 4 / 5 // width left by the axis
	width := min(room/vg.Length(len(p.groups)*(len(p.series)+1)), vg.Centimeter)
	chart, err := plotter.NewBarChart(values, width)
	if err != nil {
		return err
	}
	chart.Color = colour(i)
	chart.LineStyle.Width = 0
	chart.Offset = width * (vg.Length(i) - vg.Length(len(p.series)-1)/2)
	g.Add(chart)
	g.Legend.Add(p.series[i].name, chart)
	ranged, err := p.series[i].ranged()
	if err != nil || !ranged {
		return err
	}
	groups := make([]float64, len(heights))
	for k := range groups {
		groups[k] = float64(k)
	}
	g.Add(errorBars{x: groups, low: p.series[i].low, high: p.series[i].high, offset: chart.Offset,
		drawable: func(q plotter.XY) bool { return drawable(q.Y) && (!p.Y.Log || q.Y > 0) }})
	return nil
}

// nameGroups writes the groups' names below the bars, slanted if they would overlap.
func (p *Plot) nameGroups(g *plot.Plot) {
	g.NominalX(p.groups...)
	g.X.Padding = vg.Points(4)
	longest := 0
	for _, name := range p.groups {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	if vg.Length(longest*len(p.groups))*vg.Points(5) > plotWidth*4/5 {
		g.X.Tick.Label.Rotation = math.Pi / 6
		g.X.Tick.Label.XAlign = draw.XRight
		g.X.Tick.Label.YAlign = draw.YTop
	}
	g.X.Min, g.X.Max = -0.5, float64(len(p.groups))-0.5
	if !p.Y.Log {
		g.Y.Min = math.Min(g.Y.Min, 0)
	}
}
