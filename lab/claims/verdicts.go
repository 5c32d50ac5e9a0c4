package claims

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

//go:embed verdicts/*.yaml
var verdictFiles embed.FS

// Outcome is the outcome of a claim, in one word.
type Outcome string

// The outcomes.
const (
	Holds     Outcome = "holds"
	Fails     Outcome = "fails"
	NotJudged Outcome = "not judged"
)

// Outcome returns the word for v.
func (v *Verdict) Outcome() Outcome {
	switch {
	case v.Pass == nil:
		return NotJudged
	case *v.Pass:
		return Holds
	}
	return Fails
}

// ExpectedVerdict is the committed verdict on a claim at one scale. A run that does not agree with
// it is an error.
type ExpectedVerdict struct {
	Verdict Outcome `yaml:"verdict"`
	// Machine marks a value that is a property of the machine that runs the experiment, such as
	// wall-clock time: Verdict is NotJudged, and every outcome agrees.
	Machine bool   `yaml:"machine"`
	Reason  string `yaml:"reason"` // why it does not hold; for a claim that holds, a comment
}

// Agrees reports whether an outcome is the committed one.
func (v *ExpectedVerdict) Agrees(o Outcome) bool { return v.Machine || v.Verdict == o }

// isMachine reports whether the machine decides. v may be nil.
func (v *ExpectedVerdict) isMachine() bool { return v != nil && v.Machine }

// validate returns what is wrong with v, or "".
func (v *ExpectedVerdict) validate() string {
	switch {
	case !slices.Contains([]Outcome{Holds, Fails, NotJudged}, v.Verdict):
		return fmt.Sprintf("verdict %q: want %s, %s or %s", v.Verdict, Holds, Fails, NotJudged)
	case v.Machine && v.Verdict != NotJudged:
		return fmt.Sprintf("verdict %q of a value of the machine: want %s", v.Verdict, NotJudged)
	case v.Verdict != Holds && v.Reason == "":
		return fmt.Sprintf("verdict %q lacks a reason", v.Verdict)
	}
	return ""
}

// verdictEntry is the entry of a claim in a file of verdicts. Expect and ExpectSmall repeat the
// catalogue's conditions for the reader; CheckVerdicts compares them.
type verdictEntry struct {
	Claim       string           `yaml:"claim"`
	Expect      string           `yaml:"expect"`
	ExpectSmall string           `yaml:"expect_small"`
	Full        *ExpectedVerdict `yaml:"full"`
	Small       *ExpectedVerdict `yaml:"small"`
}

// at returns the field of a scale.
func (e *verdictEntry) at(s Scale) **ExpectedVerdict {
	if s == SmallScale {
		return &e.Small
	}
	return &e.Full
}

// Expected returns the committed verdict on c at a scale, nil if there is none.
func (c *Claim) Expected(s Scale) *ExpectedVerdict {
	if c.verdicts == nil {
		return nil
	}
	return *c.verdicts.at(s)
}

// ReadVerdicts replaces the verdicts on all claims by those in PAPER.yaml of fsys, for each paper.
// A paper without a file has none. CheckVerdicts returns what the files lack.
func (c *Catalogue) ReadVerdicts(fsys fs.FS) error {
	for _, e := range c.Experiments {
		for i := range e.Claims {
			e.Claims[i].verdicts = nil
		}
	}
	c.strays = nil
	for _, p := range c.Papers() {
		var entries []*verdictEntry
		err := decodeFile(fsys, p.Name+".yaml", &entries)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("claims: verdicts: %w", err)
		}
		for _, entry := range entries {
			if err := c.attach(entry); err != nil {
				return fmt.Errorf("claims: verdicts: %s.yaml: %w", p.Name, err)
			}
		}
	}
	return nil
}

// attach sets the verdicts of a claim.
func (c *Catalogue) attach(entry *verdictEntry) error {
	if entry == nil || entry.Claim == "" {
		return errors.New("an entry without a claim")
	}
	claim := c.claim(entry.Claim)
	if claim == nil {
		c.strays = append(c.strays, entry.Claim)
		return nil
	}
	if claim.verdicts != nil {
		return fmt.Errorf("%s: duplicate entry", entry.Claim)
	}
	claim.verdicts = entry
	return nil
}

// claim returns the claim of a full id, nil if there is none.
func (c *Catalogue) claim(id string) *Claim {
	if e := c.Find(path.Dir(id)); e != nil {
		return e.Claim(path.Base(id))
	}
	return nil
}

// CheckVerdicts returns what is wrong with the committed verdicts: claims without an entry or
// without a verdict at small scale, entries of claims that the catalogue does not have, conditions
// that differ from the catalogue's, unknown words, and missing reasons.
func (c *Catalogue) CheckVerdicts() []string {
	var problems []string
	for _, id := range c.strays {
		problems = append(problems, id+
			": a verdict is committed, but the catalogue has no such claim")
	}
	for _, e := range c.Experiments {
		for i := range e.Claims {
			for _, p := range e.Claims[i].checkVerdicts() {
				problems = append(problems, e.Claims[i].ID+": "+p)
			}
		}
	}
	return problems
}

// checkVerdicts returns what is wrong with the verdicts on one claim.
func (c *Claim) checkVerdicts() []string {
	if c.verdicts == nil {
		return []string{"no verdict is committed"}
	}
	var problems []string
	got, want := c.verdicts, c.entry()
	if got.Expect != want.Expect || got.ExpectSmall != want.ExpectSmall {
		problems = append(problems, fmt.Sprintf(
			"its verdict is on %q, small %q; the catalogue expects %q, small %q",
			got.Expect, got.ExpectSmall, want.Expect, want.ExpectSmall))
	}
	if c.verdicts.Small == nil {
		problems = append(problems, "no verdict at small scale is committed")
	}
	for _, s := range []Scale{FullScale, SmallScale} {
		if v := c.Expected(s); v != nil {
			if p := v.validate(); p != "" {
				problems = append(problems, fmt.Sprintf("at %s scale: %s", s, p))
			}
		}
	}
	return problems
}

// entry returns an entry for c without verdicts.
func (c *Claim) entry() *verdictEntry {
	e := &verdictEntry{Claim: c.ID, Expect: c.Expect.String()}
	if c.ExpectSmall != nil {
		e.ExpectSmall = c.ExpectSmall.String()
	}
	return e
}
