package experiment

import (
	"fmt"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/sim/figure"
)

// Experiment is the code of one experiment of the catalogue.
type Experiment struct {
	// ID is the catalogue's: paper/figure.
	ID string
	// Seeds returns the number of seeds for each cell. Nil means 3 at full scale and 1 at small.
	Seeds func(Scale) int
	// Cells returns the simulations of the experiment. Nil means one, without a name.
	Cells func(Scale) []Cell
	// Run simulates one cell with one seed. Several calls run concurrently.
	Run func(*Job) error
	// Judge computes the values of the claims from the records of all jobs.
	Judge func(*Results)
	// Figures draws the records of all jobs. Nil means no figures.
	Figures func(*Results) []figure.Figure
}

// Cell is one of the simulations of an experiment.
type Cell struct {
	Name string // unique in its experiment: n=8
	// parameters of Run, of a type that encodes as JSON, which is kept with the record
	Params any
}

// Scale is the scale at which an experiment runs.
type Scale = claims.Scale

// The scales.
const (
	Full  = claims.FullScale
	Small = claims.SmallScale
)

// At returns full at full scale and small at small scale.
func At[T any](s Scale, full, small T) T {
	if s == Full {
		return full
	}
	return small
}

// Sweep returns a cell for each of params, named by formatting it: Sweep("n=%d", 2, 8).
func Sweep[P any](format string, params ...P) []Cell {
	cells := make([]Cell, len(params))
	for i, p := range params {
		cells[i] = Cell{Name: fmt.Sprintf(format, p), Params: p}
	}
	return cells
}

// SeedsAt returns the number of seeds for each cell.
func (e *Experiment) SeedsAt(s Scale) int {
	if e.Seeds != nil {
		return e.Seeds(s)
	}
	return At(s, 3, 1)
}

// CellsAt returns the cells. It is an error if there are none or if their names are not unique.
func (e *Experiment) CellsAt(s Scale) ([]Cell, error) {
	if e.Cells == nil {
		return []Cell{{Name: "all"}}, nil
	}
	cells := e.Cells(s)
	seen := map[string]bool{}
	for _, c := range cells {
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("experiment: %s: cell name %q is empty or a duplicate", e.ID,
				c.Name)
		}
		seen[c.Name] = true
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("experiment: %s: no cells at %s scale", e.ID, s)
	}
	return cells, nil
}
