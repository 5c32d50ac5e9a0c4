package claims

import (
	"fmt"
	"path"
	"strings"
)

// Match returns the experiments whose ids match any of the patterns, in the catalogue's order,
// without duplicates. A pattern is a glob of path.Match over ids (prioplus/fig10*, */table1); a
// pattern without a slash is matched with the papers (prioplus, *). Without patterns it returns all
// experiments. A pattern without a match is an error that lists near ids.
func (c *Catalogue) Match(patterns ...string) ([]*Experiment, error) {
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	wanted := map[*Experiment]bool{}
	for _, pattern := range patterns {
		found := false
		for _, e := range c.Experiments {
			name := e.ID
			if !strings.Contains(pattern, "/") {
				name = e.Paper()
			}
			ok, err := path.Match(pattern, name)
			if err != nil {
				return nil, fmt.Errorf("claims: experiment %q: %w", pattern, err)
			}
			if ok {
				found, wanted[e] = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("claims: there is no experiment %q; near it: %s", pattern,
				strings.Join(c.near(pattern), ", "))
		}
	}
	var matched []*Experiment
	for _, e := range c.Experiments {
		if wanted[e] {
			matched = append(matched, e)
		}
	}
	return matched, nil
}

// near returns ids similar to a pattern without a match: those whose names begin alike, in the
// paper if there are any and else in all papers; else those of the paper; else the papers.
func (c *Catalogue) near(pattern string) []string {
	paper, name, _ := strings.Cut(strings.TrimRight(pattern, "*?"), "/")
	if name == "" {
		name = paper
	}
	alike := func(id string) bool {
		base := path.Base(id)
		return strings.HasPrefix(base, name) || strings.HasPrefix(name, base)
	}
	ofPaper := func(id string) bool { return path.Dir(id) == paper }
	for _, wanted := range []func(id string) bool{
		func(id string) bool { return alike(id) && ofPaper(id) }, alike, ofPaper,
	} {
		var ids []string
		for _, e := range c.Experiments {
			if wanted(e.ID) {
				ids = append(ids, e.ID)
			}
		}
		if len(ids) > 0 {
			return ids
		}
	}
	var papers []string
	for _, p := range c.Papers() {
		papers = append(papers, p.Name+"/*")
	}
	return papers
}
