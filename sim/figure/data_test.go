package figure

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParseData: an SVG has the data of its plot.
func TestParseData(t *testing.T) {
	for name, example := range examples {
		p := example()
		_, svg, err := p.Encode()
		require.NoError(t, err)
		d, err := ParseData(svg)
		require.NoError(t, err, name)
		assert.Equal(t, p.Title, d.Title)
		require.Len(t, d.Series, len(p.series), name)
		assert.Equal(t, p.series[0].name, d.Series[0].Name)
	}
	_, svg, err := examples["band"]().Encode()
	require.NoError(t, err)
	d, err := ParseData(svg)
	require.NoError(t, err)
	assert.Equal(t, "lines", d.Kind)
	assert.Equal(t, AxisData{Label: "x"}, d.X)
	assert.Equal(t, Numbers{1, 4, 9, 16}, d.Series[0].Y)
	assert.True(t, math.IsNaN(d.Series[0].Low[2]))
	assert.Equal(t, Numbers{2, 5, 10, 17}, d.Series[0].High)
}

func TestParseDataErrors(t *testing.T) {
	_, err := ParseData([]byte("<svg></svg>"))
	assert.ErrorIs(t, err, ErrNoData)
	for _, svg := range []string{"<svg", "", "<svg><metadata>{}}</metadata></svg>",
		`<svg><metadata>{"series": [{"y": ["x"]}]}</metadata></svg>`} {
		_, err := ParseData([]byte(svg))
		assert.ErrorContains(t, err, "figure: data:", svg)
	}
}

// TestLongLinesAreThinned: peaks and gaps stay.
func TestLongLinesAreThinned(t *testing.T) {
	x, y := make([]float64, 10000), make([]float64, 10000)
	for i := range x {
		x[i] = float64(i)
	}
	y[1234], y[5000] = 7, math.NaN()
	d := Steps("a", "", "", "").Add("s", x, y).Data().Series[0]
	assert.LessOrEqual(t, len(d.X), dataPoints+2)
	assert.Contains(t, d.Y, 7.0)
	gaps := 0
	for _, v := range d.Y {
		if math.IsNaN(v) {
			gaps++
		}
	}
	assert.Equal(t, 1, gaps)
}
