package claims

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads a catalogue: common.yaml and the file of each paper that it names. An unknown field
// and a contradiction are errors, which name the file, the id and the problem.
func Parse(fsys fs.FS) (*Catalogue, error) {
	c := &Catalogue{}
	var common struct {
		Meta   *Meta              `yaml:"meta"`
		Common *map[string]string `yaml:"common"`
	}
	common.Meta, common.Common = &c.Meta, &c.Common
	if err := decodeFile(fsys, "common.yaml", &common); err != nil {
		return nil, err
	}
	for _, p := range c.Meta.Papers {
		file := p.Name + ".yaml"
		var experiments []*Experiment
		if err := decodeFile(fsys, file, &experiments); err != nil {
			return nil, err
		}
		for i, e := range experiments {
			if e == nil {
				return nil, fmt.Errorf("claims: %s: experiment %d is empty", file, i+1)
			}
			if err := e.validate(p.Name); err != nil {
				return nil, fmt.Errorf("claims: %s: %s: %w", file, e.ID, err)
			}
			if c.Find(e.ID) != nil {
				return nil, fmt.Errorf("claims: %s: %s: duplicate id", file, e.ID)
			}
			c.Experiments = append(c.Experiments, e)
		}
	}
	if err := c.validate(fsys); err != nil {
		return nil, err
	}
	for _, e := range c.Experiments {
		e.fullSetup = c.explain(e, e.Setup, func(o *Experiment) string { return o.Setup })
		e.smallSetup = c.explain(e, e.Small.Run, func(o *Experiment) string { return o.Small.Run })
	}
	return c, nil
}

// decodeFile reads a file of one YAML document without fields unknown to x.
func decodeFile(fsys fs.FS, file string, x any) error {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return fmt.Errorf("claims: the catalogue: %w", err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(x); err != nil {
		return fmt.Errorf("claims: %s: %w", file, err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return fmt.Errorf("claims: %s: want one YAML document, got more", file)
	}
	return nil
}

// validate returns contradictions in the catalogue.
func (c *Catalogue) validate(fsys fs.FS) error {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return fmt.Errorf("claims: the catalogue: %w", err)
	}
	for _, name := range names {
		if paper := strings.TrimSuffix(name, ".yaml"); paper != "common" && !c.hasPaper(paper) {
			return fmt.Errorf("claims: %s: common.yaml names no paper %q", name, paper)
		}
	}
	for paper, figures := range c.Meta.Coverage {
		for figure, covered := range figures {
			for _, name := range covered {
				if id := path.Join(paper, name); c.Find(id) == nil {
					return fmt.Errorf(
						"claims: common.yaml: coverage of %s %s: there is no experiment %s", paper,
						figure, id)
				}
			}
		}
	}
	return nil
}

func (c *Catalogue) hasPaper(name string) bool {
	return slices.ContainsFunc(c.Meta.Papers, func(p Paper) bool { return p.Name == name })
}

var (
	kinds       = []string{"fabric", "wire", "model", "bench", "combinatorial"}
	confidences = []string{"high", "medium", "low"}
)

// validate returns contradictions of an experiment with its paper, its claims or the format.
func (e *Experiment) validate(paper string) error {
	switch {
	case e.Paper() != paper || path.Base(e.ID) == "." || strings.Count(e.ID, "/") != 1:
		return fmt.Errorf("want an id %s/name", paper)
	case e.Title == "" || e.Setup == "" || e.Small.Run == "":
		return fmt.Errorf("title, setup or small.run is missing")
	case !slices.Contains(kinds, e.Kind):
		return fmt.Errorf("kind %q: want one of %s", e.Kind, strings.Join(kinds, ", "))
	case len(e.Claims) == 0:
		return fmt.Errorf("want at least one claim")
	}
	seen := map[string]bool{}
	for i := range e.Claims {
		c := &e.Claims[i]
		if path.Dir(c.ID) != e.ID {
			return fmt.Errorf("claim %q does not start with the experiment's id", c.ID)
		}
		if seen[c.ID] {
			return fmt.Errorf("duplicate claim %s", c.ID)
		}
		seen[c.ID] = true
		if err := c.validate(); err != nil {
			return fmt.Errorf("claim %s: %w", c.ID, err)
		}
	}
	for _, short := range e.Small.Claims {
		if e.Claim(short) == nil {
			return fmt.Errorf("small.claims: unknown claim %q", short)
		}
	}
	return nil
}

func (c *Claim) validate() error {
	switch {
	case c.Says == "" || c.Metric == "" || c.Paper == "":
		return fmt.Errorf("says, metric or paper is missing")
	case !slices.Contains(confidences, c.Confidence):
		return fmt.Errorf("confidence %q: want one of %s", c.Confidence,
			strings.Join(confidences, ", "))
	case c.Confidence != "high" && c.Because == "":
		return fmt.Errorf("confidence is %s: want a reason in because", c.Confidence)
	}
	if err := c.Expect.validate(); err != nil {
		return fmt.Errorf("expect: %w", err)
	}
	if c.ExpectSmall != nil {
		if err := c.ExpectSmall.validate(); err != nil {
			return fmt.Errorf("expect_small: %w", err)
		}
	}
	return nil
}
