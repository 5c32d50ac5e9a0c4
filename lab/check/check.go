package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/lab/claims"
)

// Papers answers what is wrong with the results of papers below dir: a paper that the catalogue
// does not have, an experiment without dir/PAPER/NAME/claims.json, one that the catalogue does not
// have, and all that claims.Check finds.
func Papers(c *claims.Catalogue, dir string, papers ...string) []string {
	var problems []string
	for _, paper := range papers {
		known := false
		for _, e := range c.Experiments {
			if e.Paper() == paper {
				known = true
				problems = append(problems, experiment(e, dir)...)
			}
		}
		if !known {
			problems = append(problems, fmt.Sprintf("%s: the catalogue has no such paper", paper))
			continue
		}
		problems = append(problems, strangers(c, dir, paper)...)
	}
	return problems
}

// experiment answers what is wrong with the result of one experiment.
func experiment(e *claims.Experiment, dir string) []string {
	path := filepath.Join(dir, filepath.FromSlash(e.ID), "claims.json")
	r, err := claims.ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{fmt.Sprintf("%s: no %s", e.ID, path)}
	}
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", e.ID, err)}
	}
	var problems []string
	for _, p := range claims.Check(e, r) {
		problems = append(problems, path+": "+p)
	}
	return problems
}

// strangers answers the results that belong to no experiment.
func strangers(c *claims.Catalogue, dir, paper string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, paper))
	// that it is missing is said for each experiment
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// Complete answers the papers whose results are said to be complete: dir/COMPLETE names one on a
// line; # begins a comment.
func Complete(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "COMPLETE"))
	if err != nil {
		return nil, fmt.Errorf("check: which papers are complete: %w", err)
	}
	var papers []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		papers = append(papers, strings.Fields(line)...)
	}
	return papers, nil
}
