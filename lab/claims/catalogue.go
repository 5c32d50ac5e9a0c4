package claims

import (
	"embed"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"
)

//go:embed catalogue/*.yaml
var files embed.FS

// Catalogue is the list of experiments, in the order of the papers and of their figures.
type Catalogue struct {
	Meta        Meta
	Common      map[string]string // set-ups that several experiments share, by name
	Experiments []*Experiment

	strays []string // claims of ReadVerdicts's files that the catalogue does not have
}

// Meta defines the words of the catalogue, and lists the figures that it covers.
type Meta struct {
	Version int               `yaml:"version"`
	Papers  []Paper           `yaml:"papers"`
	Ops     map[string]string `yaml:"ops"`     // the meaning of Expect's operators
	Metrics map[string]string `yaml:"metrics"` // words that the metrics use
	// size classes, units, kinds and other conventions
	Conventions map[string]string `yaml:"conventions"`
	// Coverage lists the experiments that cover a figure or table, by paper and figure.
	Coverage map[string]map[string]Covered `yaml:"coverage"`
	// which figures have no experiment, and why
	NotExperiments []string `yaml:"not_experiments"`
}

// Paper is a group of experiments: those of a paper, or our own.
type Paper struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
}

// Covered names the experiments, within their paper, that cover a figure. A figure that is not an
// experiment has none.
type Covered []string

// UnmarshalYAML reads one name, a list of names, or "not an experiment".
func (c *Covered) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]string)(c))
	}
	var one string
	if err := n.Decode(&one); err != nil {
		return err
	}
	if one != "not an experiment" {
		*c = Covered{one}
	}
	return nil
}

// Load reads the catalogue and the verdicts that are built into the program.
func Load() (*Catalogue, error) {
	sub, err := fs.Sub(files, "catalogue")
	if err != nil {
		return nil, fmt.Errorf("claims: the catalogue: %w", err)
	}
	c, err := Parse(sub)
	if err != nil {
		return nil, err
	}
	if sub, err = fs.Sub(verdictFiles, "verdicts"); err != nil {
		return nil, fmt.Errorf("claims: the verdicts: %w", err)
	}
	if err := c.ReadVerdicts(sub); err != nil {
		return nil, err
	}
	return c, c.readBehaviour(behaviourFile)
}

// Papers returns the groups of experiments, in order.
func (c *Catalogue) Papers() []Paper { return c.Meta.Papers }

// Find returns the experiment of an id, nil if there is none.
func (c *Catalogue) Find(id string) *Experiment {
	for _, e := range c.Experiments {
		if e.ID == id {
			return e
		}
	}
	return nil
}
