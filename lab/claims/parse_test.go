package claims

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	minimalCommon = `
meta:
  papers:
    - {name: p, title: a paper}
  coverage:
    p: {fig1: a, fig2: [a, b], fig3: not an experiment}
common:
  lab: two hosts
`
	minimalPaper = `
- id: p/a
  title: first
  kind: fabric
  needs: [swift]
  setup: lab, 100G
  small: {run: 10G, claims: [fast]}
  claims:
    - id: p/a/fast
      says: it is fast
      metric: time
      paper: 1 ms
      expect: {op: '<=', value: 1ms}
      confidence: high
    - id: p/a/full
      says: it is full
      metric: util
      paper: a curve
      expect: {op: '>=', value: 0.9}
      expect_small: {op: '>=', value: 0.8}
      confidence: low
      because: a curve only
- id: p/b
  title: second
  kind: model
  setup: as a2, without lab
  small: {run: same, claims: []}
  claims:
    - {id: p/b/right, says: it is right, metric: difference, paper: ours,
       expect: {op: equals, value: 0}, confidence: high}
`
)

func parse(common, paper string) (*Catalogue, error) {
	return Parse(fstest.MapFS{"common.yaml": {Data: []byte(common)},
		"p.yaml": {Data: []byte(paper)}})
}

func TestParse(t *testing.T) {
	c, err := parse(minimalCommon, minimalPaper)
	require.NoError(t, err)
	require.Len(t, c.Experiments, 2)
	assert.Equal(t, []Paper{{"p", "a paper"}}, c.Papers())
	assert.Equal(t, map[string]Covered{"fig1": {"a"}, "fig2": {"a", "b"}, "fig3": nil},
		c.Meta.Coverage["p"])
	assert.Equal(t, "lab, 100G\n\nlab: two hosts", c.Find("p/a").FullSetup())
	assert.Equal(t, 0.8, c.Find("p/a").Claim("full").ExpectSmall.Value.x)
}

// TestParseErrors: every error names the file, the id, and the problem.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"- id: p/b", "- id: p/a", "p.yaml: p/a: claim \"p/b/right\" does not start"},
		{"p/b", "p/a", "p.yaml: p/a: duplicate id"},
		{"- id: p/a", "- id: q/a", "p.yaml: q/a: want an id p/name"},
		{"- id: p/a\n", "- id: a\n", "p.yaml: a: want an id p/name"},
		{"- id: p/a\n", "- id: p/a/b\n", "p.yaml: p/a/b: want an id p/name"},
		{"title: first", "title: ''", "p.yaml: p/a: title, setup or small.run is missing"},
		{"kind: fabric", "kind: fibre", `p.yaml: p/a: kind "fibre": want one of`},
		{"p/a/full", "p/a/fast", "p.yaml: p/a: duplicate claim p/a/fast"},
		{"p/a/full", "p/full", `p.yaml: p/a: claim "p/full" does not start`},
		{"[fast]", "[quick]", `p.yaml: p/a: small.claims: unknown claim "quick"`},
		{"op: '<='", "op: '=<'", `p.yaml: p/a: claim p/a/fast: expect: unknown op "=<"`},
		{"expect_small: {op: '>='", "expect_small: {op: each",
			"p.yaml: p/a: claim p/a/full: expect_small: each takes a cond"},
		{"confidence: low", "confidence: none",
			`p.yaml: p/a: claim p/a/full: confidence "none": want one of`},
		{"      because: a curve only\n", "",
			"p.yaml: p/a: claim p/a/full: confidence is low: want a reason in because"},
		{"metric: util", "metric: ''",
			"p.yaml: p/a: claim p/a/full: says, metric or paper is missing"},
		{"says: it is full", "sais: it is full",
			"p.yaml: yaml: unmarshal errors:\n  line 16: field sais not found"},
		{"value: 1ms}", "value: {a: 1, a: 2}}", `p.yaml: line 13: duplicate key "a"`},
		{"- id: p/b", "-\n- id: p/b", "p.yaml: experiment 2 is empty"},
		{"- id: p/a", "id: p/a", "p.yaml: yaml: "},
		{"- id: p/b", "---\n- id: p/b", "p.yaml: want one YAML document, got more"},
	} {
		require.Contains(t, minimalPaper, c.old)
		_, err := parse(minimalCommon, strings.ReplaceAll(minimalPaper, c.old, c.new))
		assert.ErrorContains(t, err, "claims: "+c.want)
	}
	for _, c := range []struct{ old, new, want string }{
		{"[a, b]", "[a, c]", "common.yaml: coverage of p fig2: there is no experiment p/c"},
		{"fig1: a", "fig1: fig1", "common.yaml: coverage of p fig1: there is no experiment p/fig1"},
		{"name: p,", "name: q,", "the catalogue: open q.yaml"},
		{"- {name: p, title: a paper}", "[]", "p.yaml: common.yaml names no paper \"p\""},
		{"common:", "comon:",
			"common.yaml: yaml: unmarshal errors:\n  line 7: field comon not found"},
	} {
		require.Contains(t, minimalCommon, c.old)
		_, err := parse(strings.ReplaceAll(minimalCommon, c.old, c.new), minimalPaper)
		assert.ErrorContains(t, err, "claims: "+c.want)
	}
	_, err := Parse(fstest.MapFS{})
	assert.ErrorContains(t, err, "claims: the catalogue: open common.yaml")
}

// FuzzParse: any catalogue file is read or rejected; one that is read can be matched, explained and
// judged.
func FuzzParse(f *testing.F) {
	f.Add(minimalCommon, minimalPaper)
	f.Add(minimalCommon, "")
	f.Add("", "- ")
	f.Add("meta: {papers: [{name: p}, {name: p}]}", minimalPaper)
	f.Add("meta: {papers: [{name: ../p}]}", "a: &a [*a]")
	f.Add("common: {a1: b1, b1: a1}\nmeta: {papers: [{name: p}]}",
		strings.ReplaceAll(minimalPaper, "lab", "a1"))
	f.Fuzz(func(t *testing.T, common, paper string) {
		c, err := parse(common, paper)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "claims: "), err.Error())
			return
		}
		_, _ = c.Match("p/*")
		for _, e := range c.Experiments {
			require.Same(t, e, c.Find(e.ID))
			require.NotEmpty(t, e.FullSetup())
			verdicts, err := Judge(e, SmallScale, nil, nil)
			require.NoError(t, err)
			require.Empty(t,
				Check(e, &Result{Experiment: e.ID, Scale: SmallScale, Claims: verdicts}))
		}
	})
}
