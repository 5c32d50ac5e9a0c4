package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/runner"
)

// Experiment is an experiment with its results.
type Experiment struct {
	*claims.Experiment
	Scale    claims.Scale
	Seeds    string
	Commit   string
	Command  string
	Work     string // jobs done, and core time; empty without records
	Failures []runner.Failure
	Problems []string
	Figures  []Figure
	Claims   []Claim
	Count    Count

	dir     string // of the results; empty without any
	HasData bool   // data.csv is among them
}

// Claim is a row of an experiment's table.
type Claim struct {
	*claims.Claim
	Expect string // at the scale of the run
	Ours   []Cell // rounded; empty without a value
	Mark   claims.Outcome
	Note   string
	Spread string // of the seeds

	Exchange *claims.Exchange // see claims.Verdict

	Verdict claims.ExpectedVerdict // committed at the run's scale; zero value if none is
	Agrees  bool                   // whether Mark is the committed verdict
}

func newExperiment(e *claims.Experiment) *Experiment { return &Experiment{Experiment: e} }

// Setups are the paragraphs of the set-up, and of the differences at small scale.
func (v *Experiment) Setups() []string {
	paragraphs := strings.Split(v.FullSetup(), "\n\n")
	if v.Scale == claims.SmallScale {
		small := strings.Split(v.SmallSetup(), "\n\n")
		small[0] = "At small scale: " + small[0]
		paragraphs = append(paragraphs, small...)
	}
	return paragraphs
}

// setPlan sets how many jobs are done, and how to run the rest.
func (v *Experiment) setPlan(p *runner.Plan, s runner.State) {
	v.Scale, v.Seeds = p.Scale, seedsText(p.Seeds)
	v.Commit, v.Command = strings.Join(s.Commits, ", "), p.Command()
	took := time.Duration(s.Seconds * float64(time.Second))
	v.Work = fmt.Sprintf("%d of %d, core time %v", s.Done, s.Total,
		took.Round(max(took/1000, time.Millisecond)))
	v.Failures = s.Failed
	if !s.Complete() {
		v.Problems = append(v.Problems,
			fmt.Sprintf("%d of %d jobs are done, %d failed: run it again.", s.Done, s.Total,
				len(s.Failed)))
	}
	if len(s.Commits) > 1 {
		v.Problems = append(v.Problems, "Its jobs were done by different code: "+v.Commit+".")
	}
}

// readAny reads the results of the first directory that has any.
func (v *Experiment) readAny(dirs []string) error {
	for _, dir := range dirs {
		err := v.read(runner.Path(dir, v.ID))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("report: %s: no claims.json, and no code in this program to judge its "+
		"records", v.ID)
}

// read reads claims.json and the figures beside it.
func (v *Experiment) read(dir string) error {
	r, err := claims.ReadResult(filepath.Join(dir, "claims.json"))
	if err != nil {
		return err
	}
	v.Problems = append(v.Problems, claims.Check(v.Experiment, r)...)
	v.Scale, v.Seeds, v.Commit, v.Command = r.Scale, seedsText(r.Seeds), r.Commit, r.Command
	for i := range v.Experiment.Claims {
		v.judged(&v.Experiment.Claims[i], r)
	}
	v.dir = dir
	_, missing := os.Stat(filepath.Join(dir, "data.csv"))
	v.HasData = missing == nil
	v.Figures, err = readFigures(dir)
	return err
}

// judged adds a claim with the verdict of a result and the committed verdict.
func (v *Experiment) judged(c *claims.Claim, r *claims.Result) {
	row := Claim{Claim: c, Expect: c.At(r.Scale).String(), Mark: claims.NotJudged}
	i := slices.IndexFunc(r.Claims, func(d claims.Verdict) bool { return d.ID == c.ID })
	if i < 0 {
		row.Note = "missing"
	} else {
		d := r.Claims[i]
		row.Note, row.Mark, row.Exchange = d.Note, d.Outcome(), d.Exchange
		row.Spread = d.Spread()
		if !d.Value.IsNull() {
			row.Ours = cells(c, c.At(r.Scale), d.Value)
		}
	}
	if expected := c.Expected(r.Scale); expected != nil {
		row.Verdict, row.Agrees = *expected, i >= 0 && expected.Agrees(row.Mark)
	}
	v.Count.add(row.count())
	v.Claims = append(v.Claims, row)
}

// Vacuous reports whether the claim holds with the results of what it compares exchanged.
func (c *Claim) Vacuous() bool { return c.Exchange != nil && c.Exchange.Holds }

// Flags are the words by which the page's reader selects the claim.
func (c *Claim) Flags() string {
	flags := []string{c.Confidence, strings.ReplaceAll(string(c.Mark), " ", "-")}
	if !c.Agrees {
		flags = append(flags, "differs")
	}
	if c.Vacuous() || c.HoldsExchanged != "" {
		flags = append(flags, "vacuous")
	}
	return strings.Join(flags, " ")
}

// Named reports whether the elements of the value have names.
func (c *Claim) Named() bool { return named(c.Ours) }

// Many reports whether the value has so many elements that the page folds them.
func (c *Claim) Many() bool { return len(c.Ours) > manyCells }

// count counts one claim.
func (c *Claim) count() Count {
	n := Count{Differ: 1}
	if c.Agrees {
		n.Differ = 0
	}
	switch c.Mark {
	case claims.Holds:
		n.Passed++
	case claims.Fails:
		n.Failed++
	default:
		n.NotJudged++
	}
	return n
}

// Reason returns the reason of the committed verdict, or "" if it is the note of the run.
func (c *Claim) Reason() string {
	if c.Verdict.Reason == strings.Join(strings.Fields(c.Note), " ") {
		return ""
	}
	return c.Verdict.Reason
}

func seedsText(seeds []uint64) string { return strings.Trim(fmt.Sprint(seeds), "[]") }
