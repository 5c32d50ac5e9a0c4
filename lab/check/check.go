package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goroce/goroce/lab/claims"
)

// Results returns the problems of the results of experiments below dir: an experiment without
// dir/PAPER/NAME/claims.json, a result in the papers' directories whose experiment is not in the
// catalogue, and everything that claims.Check, claims.Compare and claims.BehavesDifferently find.
func Results(c *claims.Catalogue, dir string, experiments []*claims.Experiment) []string {
	var problems, papers []string
	for _, e := range experiments {
		if !slices.Contains(papers, e.Paper()) {
			papers = append(papers, e.Paper())
		}
		r, path, err := read(e, dir)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", e.ID, err))
			continue
		}
		for _, p := range slices.Concat(claims.Check(e, r), claims.Compare(e, r)) {
			problems = append(problems, path+": "+p)
		}
		if p := claims.BehavesDifferently(e, r); p != "" {
			problems = append(problems, path+": "+p)
		}
	}
	for _, paper := range papers {
		problems = append(problems, unknownResults(c, dir, paper)...)
	}
	return problems
}

// Update sets the committed verdicts on the claims of experiments, and the digests of what they
// compute, to those of their results below dir, and returns a line for each change. An experiment
// without a result, or with a result that claims.Check rejects, is an error; such errors are
// joined.
func Update(dir string, experiments []*claims.Experiment) (changes []string, err error) {
	for _, e := range experiments {
		r, path, bad := read(e, dir)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", e.ID, bad))
			continue
		}
		if problems := claims.Check(e, r); len(problems) > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %s", path, strings.Join(problems, "; ")))
			continue
		}
		changes = append(changes, claims.UpdateVerdicts(e, r)...)
		if change := claims.UpdateBehaviour(e, r); change != "" {
			changes = append(changes, change)
		}
	}
	return changes, err
}

// read returns the result of an experiment and its path.
func read(e *claims.Experiment, dir string) (*claims.Result, string, error) {
	path := filepath.Join(dir, filepath.FromSlash(e.ID), "claims.json")
	r, err := claims.ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no %s", path)
	}
	return r, path, err
}

// unknownResults returns the results whose experiments are not in the catalogue.
func unknownResults(c *claims.Catalogue, dir, paper string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, paper))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // Results reports each missing result
		return []string{err.Error()}
	}
	var problems []string
	for _, d := range entries {
		if id := paper + "/" + d.Name(); d.IsDir() && c.Find(id) == nil {
			problems = append(problems, fmt.Sprintf("%s: the catalogue has no such experiment",
				filepath.Join(dir, id)))
		}
	}
	return problems
}

// Complete returns the papers whose experiments all have a result. They are listed in dir/COMPLETE,
// one a line; # begins a comment.
func Complete(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "COMPLETE"))
	if err != nil {
		return nil, fmt.Errorf("check: want a directory of results, or experiments: %w", err)
	}
	return lines(text), nil
}
