package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// A cell is a row of the table.
type cell struct {
	name    string
	bar     string // in words
	cpus    int    // that it needs
	quota   bool   // it needs a control group with half a CPU
	anyLoad bool   // other load does not change what it shows
	judge   judge
}

// A judge measures a cell and writes figure and verdict into its result.
type judge interface {
	judge(context.Context, *bench, *result) error
}

// The verdicts.
const (
	pass = "pass"
	fail = "FAIL"
	skip = "skip" // could not be measured, or not well enough
	info = "info" // has no bar yet
)

// result is what a cell came to: an element of the JSON document.
type result struct {
	Cell    string   `json:"cell"`
	Figure  string   `json:"figure"`          // in words
	Value   *float64 `json:"value,omitempty"` // that the bar is for; none without runs
	Bar     string   `json:"bar"`
	Verdict string   `json:"verdict"`
	Notes   []string `json:"notes,omitempty"` // why it fails, is skipped, or is not judged
	Trials  []record `json:"trials,omitempty"`
	Others  float64  `json:"others"` // part of the machine that other processes used meanwhile
}

// record is a trial with its runs.
type record struct {
	Command string    `json:"command"`
	Place   string    `json:"place"`
	Unit    string    `json:"unit,omitempty"`
	Runs    []outcome `json:"runs"`

	format string
}

// skip says why a cell could not be measured.
func (r *result) skip(why string) *result {
	r.Figure, r.Verdict, r.Notes = "-", skip, []string{strings.ReplaceAll(why, "\n", "; ")}
	return r
}

// keep adds the runs of a trial.
func (r *result) keep(t trial, runs []outcome) {
	r.Trials = append(r.Trials, record{t.String(), t.place.String(), t.figure.unit, runs,
		t.figure.format})
}

// conclude gives the verdict: a cell without problems passes.
func (r *result) conclude(figure string, value float64, problems []string) {
	r.Figure, r.Verdict, r.Notes = figure, pass, problems
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		r.Value = &value
	}
	if len(problems) > 0 {
		r.Verdict = fail
	}
}

// The parts of the machine that other processes may use while a cell is measured.
const (
	noticeable = 0.1  // is said
	disturbing = 0.25 // a bar that holds then has not been shown to hold
)

// disturb notes what other processes used meanwhile, and withdraws a pass if that was too much.
func (r *result) disturb(others float64, anyLoad bool) {
	r.Others = others
	if others <= noticeable || anyLoad {
		return
	}
	r.Notes = append(r.Notes, fmt.Sprintf("others used %.0f %% of the machine", 100*others))
	if others > disturbing && r.Verdict == pass {
		r.Verdict = skip
	}
}

// unended says which runs of a trial have no value, each error once.
func unended(what string, runs []outcome) (problems []string) {
	errs := failures(runs)
	slices.Sort(errs)
	for len(errs) > 0 {
		n := 1
		for n < len(errs) && errs[n] == errs[0] {
			n++
		}
		problems = append(problems, fmt.Sprintf("%s: %d of %d runs: %s", what, n, len(runs),
			errs[0]))
		errs = errs[n:]
	}
	return problems
}

// choose returns the cells whose names match, all for nil.
func choose(all []cell, only *regexp.Regexp) ([]cell, error) {
	if only == nil {
		return all, nil
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(c cell) bool {
		return !only.MatchString(c.name)
	})
	if len(chosen) == 0 {
		var names []string
		for _, c := range all {
			names = append(names, c.name)
		}
		return nil, fmt.Errorf("--only %s matches no cell; there are %s", only,
			strings.Join(names, ", "))
	}
	return chosen, nil
}
