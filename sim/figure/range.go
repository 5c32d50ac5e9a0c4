package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ranged reports whether a series has ranges; a range for each point is required.
func (s *series) ranged() (bool, error) {
	if s.low == nil && s.high == nil {
		return false, nil
	}
	if len(s.low) != len(s.y) || len(s.high) != len(s.y) {
		return false, fmt.Errorf("%d and %d ends of ranges for %d y", len(s.low), len(s.high),
			len(s.y))
	}
	return true, nil
}

// drawBand fills the range of a line, with a gap where it cannot be drawn.
func (p *Plot) drawBand(g *plot.Plot, i int) error {
	s := &p.series[i]
	low, high := make(plotter.XYs, len(s.x)), make(plotter.XYs, len(s.x))
	for k, x := range s.x {
		low[k], high[k] = plotter.XY{X: x, Y: s.low[k]}, plotter.XY{X: x, Y: s.high[k]}
	}
	for from := 0; from < len(low); from++ {
		to := from
		for to < len(low) && p.drawable(low[to]) && p.drawable(high[to]) {
			to++
		}
		if to-from > 1 {
			band, err := plotter.NewPolygon(outline(low[from:to], high[from:to], p.kind == steps))
			if err != nil {
				return err
			}
			band.Color = translucent(colour(i))
			band.LineStyle.Width = 0
			g.Add(band)
		}
		from = to
	}
	return nil
}

// outline goes along the lower ends and back along the upper ones.
func outline(low, high plotter.XYs, stepped bool) plotter.XYs {
	var out plotter.XYs
	side := func(pts plotter.XYs) (corners plotter.XYs) {
		for k, q := range pts {
			if stepped && k > 0 {
				corners = append(corners, plotter.XY{X: q.X, Y: pts[k-1].Y})
			}
			corners = append(corners, q)
		}
		return corners
	}
	out = append(out, side(low)...)
	back := side(high)
	for k := len(back) - 1; k >= 0; k-- {
		out = append(out, back[k])
	}
	return out
}

func translucent(c color.Color) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = 50
	return n
}

// errorBars draws ranges about x of an axis, moved by an offset.
type errorBars struct {
	x, low, high []float64
	offset       vg.Length
	drawable     func(plotter.XY) bool
}

// all yields the ranges that can be drawn: the lower ends, and y of the upper ones.
func (e errorBars) all(yield func(low plotter.XY, high float64) bool) {
	for k, x := range e.x {
		low, high := math.Min(e.low[k], e.high[k]), math.Max(e.low[k], e.high[k])
		if e.drawable(plotter.XY{X: x, Y: low}) && e.drawable(plotter.XY{X: x, Y: high}) &&
			!yield(plotter.XY{X: x, Y: low}, high) {
			return
		}
	}
}

// Plot draws the ranges.
func (e errorBars) Plot(c draw.Canvas, g *plot.Plot) {
	trX, trY := g.Transforms(&c)
	style := draw.LineStyle{Color: ink, Width: vg.Points(0.8)}
	const end = vg.Length(2.5) // half of the line at each end
	for low, high := range e.all {
		at, from, to := trX(low.X)+e.offset, trY(low.Y), trY(high)
		c.StrokeLine2(style, at, from, at, to)
		c.StrokeLine2(style, at-end, from, at+end, from)
		c.StrokeLine2(style, at-end, to, at+end, to)
	}
}

// DataRange returns the limits of what is drawn.
func (e errorBars) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for low, high := range e.all {
		xmin, xmax = math.Min(xmin, low.X), math.Max(xmax, low.X)
		ymin, ymax = math.Min(ymin, low.Y), math.Max(ymax, high)
	}
	return xmin, xmax, ymin, ymax
}
