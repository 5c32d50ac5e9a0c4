package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/lab/check"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/runner"
)

// checkFlags are the flags of lab check.
type checkFlags struct {
	dir      string // of results
	verdicts string // directory of the committed verdicts
	update   bool
}

func (l *lab) checkCommand() *cobra.Command {
	f := checkFlags{dir: "docs/lab", verdicts: "lab/claims/verdicts"}
	c := &cobra.Command{
		Use:   "check [PATTERN...]",
		Short: "Compare results with the committed verdicts",
		Long: `check reads DIR/<experiment>/claims.json for every experiment whose id matches a
pattern, and compares its verdicts with the committed ones in lab/claims/verdicts. Without a pattern
it checks the papers that DIR/COMPLETE lists. It fails when

  - a claim that held fails, or a claim that failed holds;
  - a claim has no committed verdict, or a verdict has no claim or no reason;
  - a result is missing, lacks a claim, or has one that the catalogue does not have;
  - a verdict does not follow from its value;
  - a result of full scale is stale: the set-up or the number of seeds has changed since, or what
    the code computes at small scale, and DIR/STALE does not list it;
  - a result of small scale was computed by code that computes something else than the committed
    digests say (lab/claims/behaviour.yaml);
  - at small scale, a claim that compares schemes holds as well with their results exchanged, and
    the catalogue does not say why (holds_exchanged), or says so without need.

A claim whose verdict has machine: true measures the machine that runs it; any outcome agrees.

check --update writes the results' verdicts over the committed ones, the digests of small scale over
lab/claims/behaviour.yaml, and, in a directory with a file COMPLETE, the list STALE. A verdict that
stays keeps its reason. A new verdict that does not hold takes the run's note as its reason: review
it before committing.

  lab check                                     the results of full scale, docs/lab
  lab check '*' --dir .cache/lab-small          those of make lab-small
  lab check --update 'tocc/fig2*' --dir DIR     accept the results of a run in DIR`,
		RunE: func(_ *cobra.Command, patterns []string) error { return l.check(patterns, f) },
	}
	c.Flags().StringVar(&f.dir, "dir", f.dir, "directory of results")
	c.Flags().StringVar(&f.verdicts, "verdicts", f.verdicts,
		"directory of the committed verdicts (default: those built into the program)")
	c.Flags().BoolVar(&f.update, "update", false, "replace the committed verdicts by those of "+
		"the results")
	return c
}

func (l *lab) check(patterns []string, f checkFlags) error {
	if err := l.readVerdicts(f); err != nil {
		return err
	}
	patterns, experiments, err := l.checked(patterns, f.dir)
	if err != nil {
		return err
	}
	if len(experiments) == 0 {
		complete := filepath.Join(f.dir, "COMPLETE")
		fmt.Fprintf(l.out, "%s lists no papers: nothing to check\n", complete)
		return nil
	}
	if f.update {
		if err := l.update(experiments, f); err != nil {
			return err
		}
	}
	problems := l.Catalogue.CheckVerdicts()
	problems = append(problems, check.Results(l.Catalogue, f.dir, experiments)...)
	stale, err := check.Stale(f.dir, experiments, l.setup)
	if err != nil {
		return err
	}
	problems = append(problems, stale...)
	for _, p := range problems {
		fmt.Fprintln(l.out, p)
	}
	if counts := check.Exchanged(f.dir, experiments); counts != "" {
		fmt.Fprintln(l.out, counts)
	}
	what := strings.Join(patterns, " ")
	if len(problems) > 0 {
		return fmt.Errorf("results of %s in %s: problems: %d\n"+
			"lab: to accept verdicts that changed: bin/lab check --update --dir %s '%s'",
			what, f.dir, len(problems), f.dir, strings.Join(patterns, "' '"))
	}
	if count, err := check.CountStale(f.dir); err != nil {
		return err
	} else if count != "" {
		fmt.Fprintln(l.out, count)
	}
	fmt.Fprintf(l.out, "results of %s in %s: complete, and as expected\n", what, f.dir)
	return nil
}

// readVerdicts reads the verdicts of the source tree if there is one: they may be newer than those
// built into the program.
func (l *lab) readVerdicts(f checkFlags) error {
	if _, err := os.Stat(f.verdicts); err != nil {
		if f.update {
			return fmt.Errorf("--update: want to run in the module's directory: %w", err)
		}
		return nil
	}
	if err := l.Catalogue.ReadVerdicts(os.DirFS(f.verdicts)); err != nil {
		return err
	}
	return l.Catalogue.ReadBehaviour(f.behaviour())
}

// behaviour returns the path of the committed digests, which is beside the verdicts.
func (f checkFlags) behaviour() string {
	return filepath.Join(filepath.Dir(f.verdicts), "behaviour.yaml")
}

// checked returns the experiments that patterns match, and the patterns. Without patterns it takes
// the papers that dir/COMPLETE lists.
func (l *lab) checked(patterns []string, dir string) ([]string, []*claims.Experiment, error) {
	if len(patterns) == 0 {
		var err error
		if patterns, err = check.Complete(dir); err != nil || len(patterns) == 0 {
			return nil, nil, err
		}
	}
	experiments, err := l.Catalogue.Match(patterns...)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	return patterns, experiments, nil
}

// update writes the verdicts of results into the files of their papers.
func (l *lab) update(experiments []*claims.Experiment, f checkFlags) error {
	changes, bad := check.Update(f.dir, experiments)
	for _, line := range changes {
		fmt.Fprintln(l.out, line)
	}
	written := map[string]bool{}
	for _, e := range experiments {
		if written[e.Paper()] {
			continue
		}
		written[e.Paper()] = true
		if err := l.Catalogue.WriteVerdicts(f.verdicts, e.Paper()); err != nil {
			return errors.Join(bad, err)
		}
	}
	bad = errors.Join(bad, l.Catalogue.WriteBehaviour(f.behaviour()))
	if bad == nil {
		bad = l.Catalogue.ReadVerdicts(os.DirFS(f.verdicts))
	}
	if papers, err := check.Complete(f.dir); bad == nil && err == nil {
		all, err := l.Catalogue.Match(papers...)
		if err != nil {
			return err
		}
		return check.UpdateStale(f.dir, all, l.setup)
	}
	return bad
}

// setup returns the digest of the set-up that an experiment has now, with the scale and the first
// seed of a result.
func (l *lab) setup(e *claims.Experiment, r *claims.Result) (string, error) {
	x := l.code(e)
	if x == nil {
		return "", nil
	}
	if len(r.Seeds) == 0 {
		return "", nil // check.Results reports it
	}
	p, err := runner.NewPlan(x, r.Scale, r.Seeds[0])
	if err != nil {
		return "", err
	}
	return p.Setup(), nil
}
