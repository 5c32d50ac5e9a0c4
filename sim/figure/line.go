package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	maxPoints = 2000 // of a line: more than a screen has columns
	marked    = 40   // a line of at most so many points shows them
)

// drawLine draws series i of Lines, Steps or Points.
func (p *Plot) drawLine(g *plot.Plot, i int) error {
	s := &p.series[i]
	if len(s.x) != len(s.y) {
		return fmt.Errorf("%d x for %d y", len(s.x), len(s.y))
	}
	pts := make(plotter.XYs, len(s.x))
	for k := range s.x {
		pts[k] = plotter.XY{X: s.x[k], Y: s.y[k]}
	}
	style, step := lineStyle(i), plotter.NoStep
	switch p.kind {
	case points:
		style.Width = 0
	case steps:
		step = plotter.PostStep
	}
	ranged, err := s.ranged()
	if err != nil {
		return err
	}
	if ranged && p.kind != points {
		if err := p.drawBand(g, i); err != nil {
			return err
		}
	}
	p.drawRuns(g, i, pts, style, step)
	if ranged && p.kind == points {
		g.Add(errorBars{x: s.x, low: s.low, high: s.high, drawable: p.drawable})
	}
	return nil
}

// drawRuns draws points, with a gap at one that cannot be drawn, and adds them to the legend.
func (p *Plot) drawRuns(g *plot.Plot, i int, pts plotter.XYs, style draw.LineStyle,
	step plotter.StepKind) {
	glyphs := draw.GlyphStyle{Color: colour(i), Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}
	show := p.kind == points || p.kind == lines && len(pts) <= marked
	for run := range runs(pts, p.drawable) {
		if p.kind != points {
			run = thin(run)
		}
		g.Add(&plotter.Line{XYs: run, LineStyle: style, StepStyle: step})
		if show {
			g.Add(&plotter.Scatter{XYs: run, GlyphStyle: glyphs})
		}
	}
	thumbs := []plot.Thumbnailer{&plotter.Line{LineStyle: style}}
	if show {
		thumbs = append(thumbs, &plotter.Scatter{GlyphStyle: glyphs})
	}
	g.Legend.Add(p.series[i].name, thumbs...)
}

func (p *Plot) drawable(q plotter.XY) bool {
	return drawable(q.X) && drawable(q.Y) && (!p.X.Log || q.X > 0) && (!p.Y.Log || q.Y > 0)
}

// drawable reports whether v can be drawn. A value that only an overflow makes so large or so small
// would make gonum search for tick marks forever.
func drawable(v float64) bool {
	return v == 0 || math.Abs(v) < 1e200 && math.Abs(v) > 1e-200
}

// runs yields the longest stretches of points that all satisfy ok.
func runs(pts plotter.XYs, ok func(plotter.XY) bool) func(func(plotter.XYs) bool) {
	return func(yield func(plotter.XYs) bool) {
		for len(pts) > 0 {
			n := slices.IndexFunc(pts, func(q plotter.XY) bool { return !ok(q) })
			if n < 0 {
				n = len(pts)
			}
			if n > 0 && !yield(pts[:n]) {
				return
			}
			pts = pts[min(n+1, len(pts)):]
		}
	}
}

// thin reduces a long line to the ends of each stretch and its highest and lowest point: drawn, it
// is the same line, including its peaks.
func thin(pts plotter.XYs) plotter.XYs { return thinTo(pts, maxPoints) }

// thinTo is thin with another number of points, which is at least 4.
func thinTo(pts plotter.XYs, most int) plotter.XYs {
	if len(pts) <= most {
		return pts
	}
	stretches := most / 4
	out := make(plotter.XYs, 0, most)
	for i := range stretches {
		from, to := i*len(pts)/stretches, (i+1)*len(pts)/stretches
		low, high := from, from
		for k := from; k < to; k++ {
			if pts[k].Y < pts[low].Y {
				low = k
			}
			if pts[k].Y > pts[high].Y {
				high = k
			}
		}
		keep := []int{from, low, high, to - 1}
		slices.Sort(keep)
		for _, k := range slices.Compact(keep) {
			out = append(out, pts[k])
		}
	}
	return out
}
