package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	e := &Experiment{ID: "demo/one"}
	assert.Equal(t, 3, e.SeedsAt(Full))
	assert.Equal(t, 1, e.SeedsAt(Small))
	cells, err := e.CellsAt(Small)
	require.NoError(t, err)
	assert.Equal(t, []Cell{{Name: "all"}}, cells)
}

func TestSeedsAndCells(t *testing.T) {
	e := &Experiment{
		ID:    "demo/one",
		Seeds: func(s Scale) int { return At(s, 10, 2) },
		Cells: func(s Scale) []Cell {
			return Sweep("load=%.1f", At(s, []float64{0.4, 0.7}, []float64{0.4})...)
		},
	}
	assert.Equal(t, 10, e.SeedsAt(Full))
	assert.Equal(t, 2, e.SeedsAt(Small))
	cells, err := e.CellsAt(Full)
	require.NoError(t, err)
	assert.Equal(t, []Cell{{"load=0.4", 0.4}, {"load=0.7", 0.7}}, cells)
}

func TestCellErrors(t *testing.T) {
	for want, cells := range map[string][]Cell{
		"experiment: demo/one: no cells at small scale":                 {},
		`experiment: demo/one: cell name "" is empty or a duplicate`:    {{}},
		`experiment: demo/one: cell name "n=1" is empty or a duplicate`: Sweep("n=%d", 1, 2, 1),
	} {
		_, err := (&Experiment{ID: "demo/one", Cells: func(Scale) []Cell {
			return cells
		}}).CellsAt(Small)
		assert.EqualError(t, err, want)
	}
}
