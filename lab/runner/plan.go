package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goroce/goroce/lab/experiment"
)

// Plan is an experiment at a scale, with its seeds.
type Plan struct {
	Experiment *experiment.Experiment
	Scale      experiment.Scale
	Seeds      []uint64
	Tasks      []Task // by cell, then by seed
}

// Task is the simulation of one cell with one seed.
type Task struct {
	Plan  *Plan
	Cell  experiment.Cell
	Seed  uint64
	setup json.RawMessage // everything that decides the outcome except the code
}

// String returns the task's name for people.
func (t Task) String() string {
	return fmt.Sprintf("%s %s seed %d", t.Plan.Experiment.ID, t.Cell.Name, t.Seed)
}

// setup is everything that decides the outcome of a task except the code.
type setup struct {
	Experiment string           `json:"experiment"`
	Scale      experiment.Scale `json:"scale"`
	Cell       string           `json:"cell"`
	Params     any              `json:"params"`
	Seed       uint64           `json:"seed"`
}

// NewPlan plans an experiment with its number of seeds, counted from first.
func NewPlan(e *experiment.Experiment, s experiment.Scale, first uint64) (*Plan, error) {
	seeds := make([]uint64, e.SeedsAt(s))
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return PlanWith(e, s, seeds)
}

// PlanWith plans an experiment with the given seeds.
func PlanWith(e *experiment.Experiment, s experiment.Scale, seeds []uint64) (*Plan, error) {
	cells, err := e.CellsAt(s)
	if err != nil {
		return nil, err
	}
	if len(seeds) == 0 {
		return nil, fmt.Errorf("runner: %s: no seeds at %s scale", e.ID, s)
	}
	p := &Plan{Experiment: e, Scale: s, Seeds: seeds}
	for _, c := range cells {
		for _, seed := range seeds {
			text, err := json.Marshal(setup{e.ID, s, c.Name, c.Params, seed})
			if err != nil {
				return nil, fmt.Errorf("runner: %s: parameters of %s: %w", e.ID, c.Name, err)
			}
			p.Tasks = append(p.Tasks, Task{p, c, seed, text})
		}
	}
	return p, nil
}

// Setup returns a digest of everything that decides the outcome except the code.
func (p *Plan) Setup() string {
	h := sha256.New()
	for _, t := range p.Tasks {
		fmt.Fprintf(h, "%s\n", t.setup)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Command returns the command that runs the plan again.
func (p *Plan) Command() string {
	c := fmt.Sprintf("bin/lab run %s --scale %s", p.Experiment.ID, p.Scale)
	if p.Seeds[0] != 1 {
		c += fmt.Sprintf(" --seed %d", p.Seeds[0])
	}
	return c
}

// planFile is the content of a plan.json.
type planFile struct {
	Scale experiment.Scale `json:"scale"`
	Seeds []uint64         `json:"seeds"`
}

func (f planFile) equal(g planFile) bool {
	return f.Scale == g.Scale && slices.Equal(f.Seeds, g.Seeds)
}

// save writes the plan to which the directory's records belong.
func (p *Plan) save(dir string) error {
	text, err := json.Marshal(planFile{p.Scale, p.Seeds})
	if err != nil {
		return err
	}
	return writeFile(planPath(dir, p.Experiment.ID), append(text, '\n'))
}

// LoadPlan returns the plan to which the records of an experiment in a directory belong, nil if
// there are none.
func LoadPlan(dir string, e *experiment.Experiment) (*Plan, error) {
	f, err := readPlan(dir, e.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return PlanWith(e, f.Scale, f.Seeds)
}

func readPlan(dir, id string) (planFile, error) {
	path := planPath(dir, id)
	text, err := os.ReadFile(path)
	if err != nil {
		return planFile{}, fmt.Errorf("runner: %w", err)
	}
	f, err := decodePlan(text)
	if err != nil {
		return planFile{}, fmt.Errorf("runner: %s: %w", path, err)
	}
	return f, nil
}

func decodePlan(text []byte) (planFile, error) {
	var f planFile
	if err := json.Unmarshal(text, &f); err != nil {
		return planFile{}, err
	}
	if f.Scale != experiment.Full && f.Scale != experiment.Small {
		return planFile{}, fmt.Errorf("scale %q: want %s or %s", f.Scale, experiment.Full,
			experiment.Small)
	}
	return f, nil
}

func planPath(dir, id string) string { return filepath.Join(Path(dir, id), "plan.json") }

// Path returns where a directory of results keeps those of an experiment.
func Path(dir, id string) string { return filepath.Join(dir, filepath.FromSlash(id)) }
