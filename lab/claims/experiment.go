package claims

import (
	"path"
	"slices"
)

// Experiment is one figure, table or section of a paper, in a form that can be run.
type Experiment struct {
	ID    string `yaml:"id"` // paper/figure
	Title string `yaml:"title"`
	// fabric, wire, model, bench or combinatorial; common.yaml defines them
	Kind string `yaml:"kind"`
	// Source quotes the sentence of a paper that suggests an experiment that no paper has made.
	Source string   `yaml:"source"`
	Needs  []string `yaml:"needs"` // features it needs
	Setup  string   `yaml:"setup"` // at full scale, as written; see FullSetup
	Small  Small    `yaml:"small"`
	Claims []Claim  `yaml:"claims"`

	// Behaviour is a digest of what its code computes at small scale; empty if that depends on the
	// machine.
	Behaviour string `yaml:"-"`

	fullSetup, smallSetup string
}

// Small describes an experiment's small scale: under a minute on a machine of two cores.
type Small struct {
	Run    string   `yaml:"run"`    // the setting: the same, or what differs
	Claims []string `yaml:"claims"` // the short names of those judged
}

// Claim is one statement of a paper, and what we expect of our run.
type Claim struct {
	ID     string `yaml:"id"`     // paper/figure/name
	Says   string `yaml:"says"`   // the statement
	Metric string `yaml:"metric"` // what to measure, and in which unit
	// the paper's value, and its place: text, table or only a curve
	Paper  string `yaml:"paper"`
	Expect Expect `yaml:"expect"`
	// ExpectSmall replaces Expect at small scale if it is set.
	ExpectSmall *Expect `yaml:"expect_small"`
	// HoldsExchanged is the reason why the claim holds, too, with the results of the schemes that
	// it compares exchanged. Without one, such a claim is an error: see Compare.
	HoldsExchanged string `yaml:"holds_exchanged"`
	// high, medium or low: how surely a faithful reproduction shows it
	Confidence string `yaml:"confidence"`
	Because    string `yaml:"because"` // why it is not high
	// History is how the claim, or its set-up, has changed and why; empty if it has not.
	History string `yaml:"history"`

	verdicts *verdictEntry // committed; see Expected
}

// Paper returns the part of the id before the slash.
func (e *Experiment) Paper() string { return path.Dir(e.ID) }

// FullSetup returns the set-up, followed by a paragraph for each common set-up and each other
// experiment's set-up that it names, recursively.
func (e *Experiment) FullSetup() string { return e.fullSetup }

// SmallSetup returns how the run at small scale differs, small.run, followed by the same of every
// experiment that it names.
func (e *Experiment) SmallSetup() string { return e.smallSetup }

// JudgedSmall reports whether a claim, given by its short name, is judged at small scale.
func (e *Experiment) JudgedSmall(short string) bool {
	return slices.Contains(e.Small.Claims, short)
}

// Claim returns the claim of a short name, nil if there is none.
func (e *Experiment) Claim(short string) *Claim {
	for i := range e.Claims {
		if e.Claims[i].Short() == short {
			return &e.Claims[i]
		}
	}
	return nil
}

// Short returns the last part of the id, by which an experiment names its claims.
func (c *Claim) Short() string { return path.Base(c.ID) }

// At returns the condition at a scale.
func (c *Claim) At(s Scale) *Expect {
	if s == SmallScale && c.ExpectSmall != nil {
		return c.ExpectSmall
	}
	return &c.Expect
}
