package figure

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
	"pgregory.net/rapid"
)

func TestThin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5*maxPoints).Draw(t, "points")
		peak := rapid.IntRange(0, n-1).Draw(t, "peak")
		dip := rapid.IntRange(0, n-1).Draw(t, "dip")
		pts := make(plotter.XYs, n)
		for i := range pts {
			pts[i].X = float64(i)
		}
		pts[dip].Y, pts[peak].Y = -1, 1
		thinned := thin(pts)
		require.LessOrEqual(t, len(thinned), maxPoints)
		require.Equal(t, pts[0], thinned[0])
		require.Equal(t, pts[n-1], thinned[len(thinned)-1])
		require.Contains(t, thinned, pts[peak])
		require.Contains(t, thinned, pts[dip])
		for i := 1; i < len(thinned); i++ {
			require.Less(t, thinned[i-1].X, thinned[i].X)
		}
	})
}

func TestRunsEndAtWhatCannotBeDrawn(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		y    []float64
		want []int // lengths
	}{
		{nil, nil},
		{[]float64{nan}, nil},
		{[]float64{1, 2, 3}, []int{3}},
		{[]float64{nan, 1, nan, nan, 2, 3}, []int{1, 2}},
		{[]float64{1, nan}, []int{1}},
	} {
		var pts plotter.XYs
		for _, y := range c.y {
			pts = append(pts, plotter.XY{Y: y})
		}
		var got []int
		for run := range runs(pts, func(q plotter.XY) bool { return !math.IsNaN(q.Y) }) {
			got = append(got, len(run))
		}
		assert.Equal(t, c.want, got, "%v", c.y)
	}
}

func TestDistribution(t *testing.T) {
	assert.Nil(t, distribution(nil))
	assert.Equal(t, plotter.XYs{{X: 1, Y: 0}, {X: 1, Y: 0.25}, {X: 2, Y: 0.5}, {X: 2, Y: 0.75}},
		distribution([]float64{2, 1, math.Inf(1), 2}), "one of four never came")
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(0, 1e9), 1, 3*maxPoints).Draw(t, "samples")
		curve := distribution(samples)
		require.LessOrEqual(t, len(curve), maxPoints+1)
		require.Equal(t, 1.0, curve[len(curve)-1].Y)
		for i := 1; i < len(curve); i++ {
			require.LessOrEqual(t, curve[i-1].X, curve[i].X)
			require.Less(t, curve[i-1].Y, curve[i].Y)
		}
	})
}
