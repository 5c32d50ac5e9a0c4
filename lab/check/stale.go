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

// A Setup returns the digest of the set-up that an experiment has now, with the scale and the
// first seed of a result.
type Setup func(*claims.Experiment, *claims.Result) (string, error)

const staleHeader = `# Results that the code of this tree would not compute, and why. bin/lab check
# compares this list with the results, and bin/lab check --update writes it. It is empty after a run
# of everything.
`

// stale is a result of full scale that this code would not compute.
type stale struct{ id, why string }

// findStale returns the stale results of experiments below dir. Results that cannot be read are
// not among them: Results reports those.
func findStale(dir string, experiments []*claims.Experiment, setup Setup) ([]stale, error) {
	var found []stale
	for _, e := range experiments {
		r, _, err := read(e, dir)
		if err != nil || r.Scale != claims.FullScale {
			continue
		}
		now, err := setup(e, r)
		if err != nil {
			return nil, err
		}
		if why := claims.Stale(e, r, now); why != "" {
			found = append(found, stale{e.ID, why})
		}
	}
	return found, nil
}

// Stale returns the problems of results below dir that this code would not compute: those that
// dir/STALE does not list, and those that it lists without need.
func Stale(dir string, experiments []*claims.Experiment, setup Setup) ([]string, error) {
	found, err := findStale(dir, experiments, setup)
	if err != nil {
		return nil, err
	}
	listed, err := readStale(dir)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, s := range found {
		if !listed[s.id] {
			problems = append(problems, fmt.Sprintf("%s: stale: %s", filepath.Join(dir, s.id),
				s.why))
		}
		delete(listed, s.id)
	}
	for _, e := range experiments {
		if listed[e.ID] {
			problems = append(problems, fmt.Sprintf("%s: %s/STALE lists it, and it is not stale",
				filepath.Join(dir, e.ID), dir))
		}
	}
	return problems, nil
}

// CountStale returns the number of results that dir/STALE lists, as text, or "" if there are none.
func CountStale(dir string) (string, error) {
	listed, err := readStale(dir)
	if err != nil || len(listed) == 0 {
		return "", err
	}
	return fmt.Sprintf("stale: %d results, which %s lists", len(listed),
		filepath.Join(dir, "STALE")), nil
}

// UpdateStale writes dir/STALE. Experiments must be all that have results there.
func UpdateStale(dir string, experiments []*claims.Experiment, setup Setup) error {
	found, err := findStale(dir, experiments, setup)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(staleHeader)
	for _, s := range found {
		fmt.Fprintf(&b, "%s # %s\n", s.id, s.why)
	}
	if err := os.WriteFile(filepath.Join(dir, "STALE"), b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// readStale returns the experiments that dir/STALE lists, one a line; # begins a comment. Without
// the file there are none.
func readStale(dir string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(dir, "STALE"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("check: %w", err)
	}
	return set(lines(text)), nil
}

func set(words []string) map[string]bool {
	s := map[string]bool{}
	for _, w := range words {
		s[w] = true
	}
	return s
}

// lines returns the words of a list; # begins a comment.
func lines(text []byte) (words []string) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words = append(words, strings.Fields(line)...)
	}
	return words
}
