package experiment

import (
	"fmt"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/sim/figure"
)

// Experiment is one experiment of the catalogue, as code.
type Experiment struct {
	// ID is the one in the catalogue: paper/figure.
	ID string
	// Seeds answers with how many seeds each cell is simulated. Nil: 3 at full scale, 1 at small.
	Seeds func(Scale) int
	// Cells answers the simulations that the experiment consists of. Nil: one, which needs no name.
	Cells func(Scale) []Cell
	// Run simulates one cell with one seed. Several run at the same time.
	Run func(*Job) error
	// Judge computes what the claims are about from the records of all jobs.
	Judge func(*Results)
	// Figures draws the records of all jobs. Nil: nothing to see.
	Figures func(*Results) []figure.Figure
}

// Cell is one of the simulations that an experiment consists of.
type Cell struct {
	Name string // unique in its experiment: n=8
	// what Run needs to know; of a type that is written as JSON, which is kept with the record
	Params any
}

// Scale is how large an experiment is run.
type Scale = claims.Scale

// The scales.
const (
	Full  = claims.FullScale
	Small = claims.SmallScale
)

// At answers full at full scale and small at small scale.
func At[T any](s Scale, full, small T) T {
	if s == Full {
		return full
	}
	return small
}

// Sweep answers a cell for each of params, named by a format of it: Sweep("n=%d", 2, 8).
func Sweep[P any](format string, params ...P) []Cell {
	cells := make([]Cell, len(params))
	for i, p := range params {
		cells[i] = Cell{Name: fmt.Sprintf(format, p), Params: p}
	}
	return cells
}

// SeedsAt answers with how many seeds each cell is simulated.
func (e *Experiment) SeedsAt(s Scale) int {
	if e.Seeds != nil {
		return e.Seeds(s)
	}
	return At(s, 3, 1)
}

// CellsAt answers the cells, or an error when they are none or their names are not unique.
func (e *Experiment) CellsAt(s Scale) ([]Cell, error) {
	if e.Cells == nil {
		return []Cell{{Name: "all"}}, nil
	}
	cells := e.Cells(s)
	seen := map[string]bool{}
	for _, c := range cells {
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("experiment: %s: cell name %q is empty or there twice", e.ID,
				c.Name)
		}
		seen[c.Name] = true
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("experiment: %s: no cells at %s scale", e.ID, s)
	}
	return cells, nil
}
