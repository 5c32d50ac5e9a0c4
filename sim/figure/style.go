package figure

import (
	"image/color"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The size of a plot, without the legend to its right.
const (
	plotWidth  = 15 * vg.Centimeter
	plotHeight = 8.5 * vg.Centimeter
	margin     = 6 * vg.Millimeter / 2
)

// palette has the colours of Okabe and Ito ("Color universal design", 2008) in an order in which
// neighbours differ most, without the yellow, which is invisible on white paper.
var palette = []color.Color{
	rgb(0x0072B2), // blue
	rgb(0xD55E00), // vermilion
	rgb(0x009E73), // bluish green
	rgb(0xCC79A7), // reddish purple
	rgb(0xE69F00), // orange
	rgb(0x56B4E9), // sky blue
	rgb(0x333333),
}

// dashes distinguish lines of the same colour.
var dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(1.5), vg.Points(2.5)}}

var (
	ink  = rgb(0x333333)
	grey = rgb(0xDDDDDD)
)

func rgb(c uint32) color.Color {
	return color.NRGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: 255}
}

func colour(series int) color.Color { return palette[series%len(palette)] }

func lineStyle(series int) draw.LineStyle {
	return draw.LineStyle{
		Color:  colour(series),
		Width:  vg.Points(1.4),
		Dashes: dashes[series/len(palette)%len(dashes)],
	}
}

func sans(size vg.Length) plotfont.Font {
	return plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// newPlot returns gonum's plot in our style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.Title.TextStyle.Font = sans(vg.Points(11))
	p.Title.TextStyle.Font.Weight = font.WeightBold
	p.Title.TextStyle.Color = ink
	p.Title.Padding = vg.Points(8)
	p.Legend.TextStyle.Font = sans(vg.Points(9))
	p.Legend.TextStyle.Color = ink
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(3)
	p.Legend.ThumbnailWidth = vg.Points(18)
	p.Legend.YPosition = draw.PosCenter
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(vg.Points(10))
		a.Label.TextStyle.Color = ink
		a.Label.Padding = vg.Points(3)
		a.Tick.Label.Font = sans(vg.Points(9))
		a.Tick.Label.Color = ink
		a.Tick.Length = vg.Points(4)
		a.Tick.Color, a.Color = ink, ink
		a.Padding = 0
	}
	return p
}
