package figure

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wellFormed returns the text of an SVG, without tags.
func wellFormed(t require.TestingT, svg []byte) string {
	var text strings.Builder
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := d.Token()
		if err == io.EOF {
			return text.String()
		}
		require.NoError(t, err)
		if s, ok := token.(xml.CharData); ok {
			text.Write(s)
		}
	}
}

var examples = map[string]func() *Plot{
	"lines": func() *Plot {
		return Lines("a", "A <title> & more", "time (µs)", "queue (KB)").
			Add("first & foremost", []float64{0, 1, 2}, []float64{1, 4, 9}).
			Add("second", []float64{0, 2}, []float64{3, math.NaN()})
	},
	"steps": func() *Plot {
		return Steps("a", "A <title> & more", "time (µs)", "queue (KB)").
			Add("first & foremost", []float64{0, 1, 2}, []float64{1, 4, 9})
	},
	"points": func() *Plot {
		p := Points("a", "A <title> & more", "size (B)", "slowdown").
			Add("first & foremost", []float64{0, 10, 2000}, []float64{1, 4, 9})
		p.X.Log = true
		return p
	},
	"CDF": func() *Plot {
		return CDF("a", "A <title> & more", "time (µs)").Samples("first & foremost",
			[]float64{3, 1, 2, math.Inf(1)})
	},
	"bars": func() *Plot {
		p := Bars("a", "A <title> & more", "speed-up", "small", "large").
			Heights("first & foremost", 1, 2).
			Heights("second", math.NaN(), 100)
		p.Y.Log = true
		return p
	},
	"band": func() *Plot {
		return Lines("a", "A <title> & more", "x", "y").
			Add("first & foremost", []float64{0, 1, 2, 3}, []float64{1, 4, 9, 16}).
			Range([]float64{0, 3, math.NaN(), 15}, []float64{2, 5, 10, 17})
	},
	"ranges of points": func() *Plot {
		p := Points("a", "A <title> & more", "x", "y").
			Add("first & foremost", []float64{0, 1}, []float64{1, 4}).
			Range([]float64{0, 3}, []float64{2, 5})
		p.Y.Log = true
		return p
	},
	"ranges of bars": func() *Plot {
		return Bars("a", "A <title> & more", "speed-up", "small", "large").
			Heights("first & foremost", 1, 2).Range([]float64{0.5, 1}, []float64{1.5, 3})
	},
	"no data": func() *Plot {
		return Lines("a", "A <title> & more", "x", "y").Add("first & foremost", nil, nil)
	},
}

func TestEncode(t *testing.T) {
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			file, svg, err := example().Encode()
			require.NoError(t, err)
			assert.Equal(t, "a.svg", file)
			text := wellFormed(t, svg)
			assert.Contains(t, text, "A <title> & more")
			assert.Contains(t, text, "first & foremost")
			_, again, err := example().Encode()
			require.NoError(t, err)
			assert.Equal(t, string(svg), string(again), "the same figure has the same bytes")
		})
	}
}

func TestTitleIsForAll(t *testing.T) {
	_, svg, err := examples["lines"]().Encode()
	require.NoError(t, err)
	doc := struct {
		Title string `xml:"title"`
	}{}
	require.NoError(t, xml.Unmarshal(svg, &doc))
	assert.Equal(t, "A <title> & more", doc.Title)
}

// TestLongTitle: a title that is wider than the plot is broken into lines.
func TestLongTitle(t *testing.T) {
	title := strings.TrimSpace(strings.Repeat("a long title ", 12))
	_, svg, err := Lines("a", title, "x", "y").Add("s", []float64{1}, []float64{1}).Encode()
	require.NoError(t, err)
	drawn := string(svg[strings.Index(string(svg), "</metadata>"):])
	assert.NotContains(t, drawn, title)
	assert.Contains(t, drawn, ">a long title a long")
	d, err := ParseData(svg)
	require.NoError(t, err)
	assert.Equal(t, title, d.Title)
}

func TestOneSeriesWithoutNameHasNoLegend(t *testing.T) {
	width := func(series string) (w string) {
		_, svg, err := Lines("a", "t", "x", "y").Add(series, []float64{1, 2},
			[]float64{1, 2}).Encode()
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(svg), `width="`)
		w, _, _ = strings.Cut(rest, `"`)
		return w
	}
	assert.Equal(t, "425.2pt", width(""))
	assert.NotEqual(t, "425.2pt", width("a name"))
}

func TestEncodeErrors(t *testing.T) {
	for want, p := range map[string]*Plot{
		`figure: name "A b": want lower-case letters, digits and dashes`: Lines("A b", "", "",
			"").Add("", nil, nil),
		`figure: name "../x"`:        Lines("../x", "", "", ""),
		"figure: a: nothing to show": Lines("a", "", "", ""),
		"figure: a: s: 2 x for 1 y": Lines("a", "", "", "").Add("s", []float64{1, 2},
			[]float64{1}),
		"figure: a: s: 1 bars for 2 groups": Bars("a", "", "", "g", "h").Heights("s", 1),
		"figure: a: s: 1 and 2 ends of ranges for 2 y": Lines("a", "", "", "").Add("s",
			[]float64{1, 2}, []float64{1, 2}).Range([]float64{1}, []float64{1, 2}),
		"figure: a: s: 1 and 0 ends of ranges for 1 y": Bars("a", "", "", "g").Heights("s",
			1).Range([]float64{1}, nil),
		"figure: a: X: limits 2 and 1":   limited(2, 1, false),
		"figure: a: X: limits NaN and 1": limited(math.NaN(), 1, false),
		"figure: a: X: limits -1 and 5":  limited(-1, 5, true),
	} {
		_, _, err := p.Encode()
		assert.ErrorContains(t, err, want)
	}
}

func limited(low, high float64, log bool) *Plot {
	p := Lines("a", "", "", "").Add("s", []float64{1, 2}, []float64{1, 2})
	p.X.Min, p.X.Max, p.X.Log = low, high, log
	return p
}

// TestAnyDataIsDrawn: any data gives a figure.
func TestAnyDataIsDrawn(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-10, 10), rapid.SampledFrom([]float64{
		0, 1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64,
	}))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "points")
		draw := func(name string) []float64 { return rapid.SliceOfN(number, n, n).Draw(t, name) }
		var p *Plot
		switch kind := rapid.SampledFrom([]kind{lines, steps, points, cdf, bars}).Draw(t,
			"kind"); kind {
		case cdf:
			p = CDF("a", "", "").Samples("s", draw("samples"))
		case bars:
			p = Bars("a", "", "", make([]string, n)...).Heights("s",
				draw("heights")...).Heights("t", draw("more")...)
		default:
			p = of(kind, "a", "", "", "").Add("s", draw("x"), draw("y"))
		}
		if p.kind != cdf && rapid.Bool().Draw(t, "ranges") {
			p.Range(draw("low"), draw("high"))
		}
		p.X.Log = rapid.Bool().Draw(t, "log x")
		p.Y.Log = rapid.Bool().Draw(t, "log y")
		_, svg, err := p.Encode()
		require.NoError(t, err)
		wellFormed(t, svg)
		require.NotContains(t, string(svg), "NaN")
	})
}
