package claims

import (
	"path"
	"slices"
)

// Experiment is one figure, table or section of a paper, as something that can be run.
type Experiment struct {
	ID    string `yaml:"id"` // paper/figure
	Title string `yaml:"title"`
	// fabric, wire, model, bench or combinatorial; common.yaml says what each is
	Kind string `yaml:"kind"`
	// Source is the sentence of a paper that asks for an experiment that no paper has made.
	Source string   `yaml:"source"`
	Needs  []string `yaml:"needs"` // features it builds on
	Setup  string   `yaml:"setup"` // at full scale, as written; see FullSetup
	Small  Small    `yaml:"small"`
	Claims []Claim  `yaml:"claims"`

	fullSetup, smallSetup string
}

// Small is an experiment's form for a machine of two cores: under a minute.
type Small struct {
	Run    string   `yaml:"run"`    // the setting: the same, or what differs
	Claims []string `yaml:"claims"` // the short names of those judged
}

// Claim is one statement that a paper makes, and what we expect of our run.
type Claim struct {
	ID     string `yaml:"id"`     // paper/figure/name
	Says   string `yaml:"says"`   // the statement
	Metric string `yaml:"metric"` // what to measure, and in which unit
	// the paper's value, and where it stands: text, table or only a curve
	Paper  string `yaml:"paper"`
	Expect Expect `yaml:"expect"`
	// ExpectSmall replaces Expect at small scale, where it is there.
	ExpectSmall *Expect `yaml:"expect_small"`
	// high, medium or low: will a faithful reproduction show it?
	Confidence string `yaml:"confidence"`
	Because    string `yaml:"because"` // why it is not high

	verdicts *verdictEntry // committed; see Expected
}

// Paper is the part of the id before the slash.
func (e *Experiment) Paper() string { return path.Dir(e.ID) }

// FullSetup is the set-up followed by the text of every common set-up and every other experiment's
// set-up that it names, and that those name: a paragraph each.
func (e *Experiment) FullSetup() string { return e.fullSetup }

// SmallSetup is how the run at small scale differs, small.run, followed by the same of every
// experiment that it names.
func (e *Experiment) SmallSetup() string { return e.smallSetup }

// JudgedSmall says whether a claim, by its short name, is judged at small scale.
func (e *Experiment) JudgedSmall(short string) bool {
	return slices.Contains(e.Small.Claims, short)
}

// Claim answers the claim of a short name, nil when there is none.
func (e *Experiment) Claim(short string) *Claim {
	for i := range e.Claims {
		if e.Claims[i].Short() == short {
			return &e.Claims[i]
		}
	}
	return nil
}

// Short is the last part of the id, by which an experiment names its claims.
func (c *Claim) Short() string { return path.Base(c.ID) }

// At answers what is expected at a scale.
func (c *Claim) At(s Scale) *Expect {
	if s == SmallScale && c.ExpectSmall != nil {
		return c.ExpectSmall
	}
	return &c.Expect
}
