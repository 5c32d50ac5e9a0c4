package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/exchange"
	"github.com/goroce/goroce/lab/experiment"
)

// State is the progress of a plan.
type State struct {
	Total   int
	Done    int
	Failed  []Failure
	Commits []string // that did the tasks, without duplicates
	Seconds float64  // core time of the tasks
}

// Failure is a task that ended with an error.
type Failure struct {
	Task Task
	Err  string
}

// Complete reports whether all tasks are done, and without errors.
func (s State) Complete() bool { return s.Done == s.Total }

// Finish reads the records of a plan in a directory. If all tasks are done, it judges the claims
// and writes data.csv, claims.json, figures and tables. At small scale it also tests whether claims
// discriminate: see exchange.Test. It removes the files of an earlier Finish in any case, once
// there are newer records. With a code, only records of that code count; without one, all do.
//
// Finish returns an error if the experiment cannot be judged as it is written, for instance if a
// claim that is to be judged at the plan's scale has neither value nor note. Then there is no
// claims.json.
func Finish(dir string, p *Plan, e *claims.Experiment, code *Code) (State, error) {
	state, done := collect(dir, p, code)
	if state.Done+len(state.Failed) == 0 {
		return state, nil
	}
	out := Path(dir, p.Experiment.ID)
	if err := removeOutcome(out); err != nil || !state.Complete() {
		return state, err
	}
	if err := writeFile(filepath.Join(out, "data.csv"), dataCSV(done)); err != nil {
		return state, err
	}
	r := experiment.NewResults(p.Scale, done)
	verdicts, err := judge(p.Experiment, e, r, out)
	if err != nil {
		return state, fmt.Errorf("runner: %s: %w", e.ID, err)
	}
	if p.Scale == experiment.Small { // full results are large
		exchange.Test(p.Experiment, e, p.Scale, done, verdicts)
	}
	judgeSeeds(p, e, done, verdicts)
	behaviour := e.Behaviour
	if p.Scale == experiment.Small {
		if behaviour, err = experiment.Digest(done); err != nil {
			return state, err
		}
	}
	result := claims.Result{
		Experiment: e.ID,
		Scale:      p.Scale,
		Seeds:      p.Seeds,
		Commit:     strings.Join(state.Commits, ", "),
		Setup:      p.Setup(),
		Behaviour:  behaviour,
		Command:    p.Command(),
		Seconds:    math.Round(state.Seconds*10) / 10,
		Claims:     verdicts,
	}
	return state, replace(filepath.Join(out, "claims.json"), result.Write)
}

// collect reads the records of a plan.
func collect(dir string, p *Plan, code *Code) (State, []experiment.Done) {
	state := State{Total: len(p.Tasks)}
	var done []experiment.Done
	for _, t := range p.Tasks {
		f := t.load(dir)
		switch {
		case f == nil || code != nil && f.Code.ID != code.ID:
			continue
		case f.Error != "":
			state.Failed = append(state.Failed, Failure{t, f.Error})
		default:
			state.Done++
			done = append(done, experiment.Done{Cell: t.Cell, Seed: t.Seed, Record: f.Record})
		}
		state.Seconds += f.Seconds
		if !slices.Contains(state.Commits, f.Code.Commit) {
			state.Commits = append(state.Commits, f.Code.Commit)
		}
	}
	return state, done
}

// removeOutcome removes the files of an earlier Finish.
func removeOutcome(out string) error {
	files, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		switch name := f.Name(); {
		case name == "claims.json", filepath.Ext(name) == ".csv", filepath.Ext(name) == ".svg":
			gone := os.Remove(filepath.Join(out, name))
			if !errors.Is(gone, fs.ErrNotExist) { // another shard's Finish removed it first
				err = errors.Join(err, gone)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	return nil
}

// judge runs the experiment's Judge and Figures, and returns a verdict for every claim.
func judge(
	x *experiment.Experiment, e *claims.Experiment, r *experiment.Results, out string,
) ([]claims.Verdict, error) {
	err := errors.Join(
		catchPanic("Judge", func() error { x.Judge(r); return nil }),
		catchPanic("Figures", func() error { return draw(out, x, r) }),
	)
	values, notes, mistakes := r.Verdicts()
	verdicts, unknown := claims.Judge(e, r.Scale, values, notes)
	err = errors.Join(err, mistakes, unknown)
	for i, v := range verdicts {
		short := e.Claims[i].Short()
		wanted := r.Scale == experiment.Full || e.JudgedSmall(short)
		if v.Pass == nil && wanted && notes[short] == "" {
			err = errors.Join(err, fmt.Errorf("claim %s: %s", short, v.Note))
		}
	}
	return verdicts, err
}

// draw writes figures and tables.
func draw(out string, x *experiment.Experiment, r *experiment.Results) error {
	if x.Figures == nil {
		return nil
	}
	written := map[string]bool{"data.csv": true}
	for _, f := range x.Figures(r) {
		name, data, err := f.Encode()
		if err == nil && written[name] {
			err = fmt.Errorf("file name %s is taken", name)
		}
		if err == nil {
			err = writeFile(filepath.Join(out, name), data)
		}
		if err != nil {
			return err
		}
		written[name] = true
	}
	return nil
}

// catchPanic calls code of an experiment; a panic becomes an error.
func catchPanic(what string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
		}
	}()
	return call()
}
