package claims

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func load(t require.TestingT) *Catalogue {
	c, err := Load()
	require.NoError(t, err)
	return c
}

// TestCounts: nothing was dropped. The numbers of the papers and of beyond are those of the
// catalogue's first version.
func TestCounts(t *testing.T) {
	type count struct{ experiments, claims, small, high, medium, low int }
	got := map[string]count{}
	kinds := map[string]int{}
	for _, e := range load(t).Experiments {
		n := got[e.Paper()]
		n.experiments++
		n.claims += len(e.Claims)
		n.small += len(e.Small.Claims)
		for _, c := range e.Claims {
			n.high += map[string]int{"high": 1}[c.Confidence]
			n.medium += map[string]int{"medium": 1}[c.Confidence]
			n.low += map[string]int{"low": 1}[c.Confidence]
		}
		got[e.Paper()] = n
		if e.Paper() != "fabric" && e.Paper() != "cc" && e.Paper() != "host" {
			kinds[e.Kind]++
		}
	}
	assert.Equal(t, map[string]count{
		"prioplus":   {35, 108, 81, 53, 50, 5},
		"tocc":       {34, 97, 62, 42, 50, 5},
		"taurus":     {22, 58, 41, 30, 24, 4},
		"carc":       {12, 37, 28, 22, 14, 1},
		"bytetuning": {22, 75, 47, 38, 27, 10},
		"beyond":     {13, 37, 27, 17, 18, 2}, // with the papers 138 experiments, 412 claims
		"fabric":     {11, 19, 18, 17, 2, 0},
		"cc":         {5, 23, 19, 9, 14, 0},
		"host":       {5, 26, 22, 5, 15, 6},
	}, got)
	assert.Equal(t, map[string]int{"bench": 7, "combinatorial": 11, "fabric": 92, "model": 22,
		"wire": 6}, kinds)
}

// TestCatalogueStandsAlone: no text refers to something that its reader does not have.
func TestCatalogueStandsAlone(t *testing.T) {
	pointer := regexp.MustCompile(`\.md\b|\.csv\b|\bdata/|(?i)\bcards?\b`)
	names, err := fs.Glob(files, "catalogue/*.yaml")
	require.NoError(t, err)
	require.Len(t, names, 10)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			if pointer.MatchString(line) || len(line) > 100 {
				t.Errorf("%s:%d refers to something outside or is too long: %s", name, i+1, line)
			}
		}
	}
}

// TestCatalogueOrder: papers in the order of common.yaml, and experiments together by paper.
func TestCatalogueOrder(t *testing.T) {
	c := load(t)
	var papers, met []string
	for _, p := range c.Papers() {
		papers = append(papers, p.Name)
		assert.NotEmpty(t, p.Title)
	}
	for _, e := range c.Experiments {
		if len(met) == 0 || met[len(met)-1] != e.Paper() {
			met = append(met, e.Paper())
		}
	}
	assert.Equal(t, []string{"prioplus", "tocc", "taurus", "carc", "bytetuning", "beyond", "fabric",
		"cc", "host"}, papers)
	assert.Equal(t, papers, met)
}

// TestCoverage: the experiments with a figure or table in their name are those that cover one.
func TestCoverage(t *testing.T) {
	c := load(t)
	covering := map[string]bool{}
	for paper, figures := range c.Meta.Coverage {
		assert.Greater(t, len(figures), 10, paper)
		for _, names := range figures {
			for _, name := range names {
				covering[path.Join(paper, name)] = true
			}
		}
	}
	for _, e := range c.Experiments {
		if regexp.MustCompile(`/(fig|table)\d+[a-z]*$`).MatchString(e.ID) {
			assert.True(t, covering[e.ID], e.ID)
		}
	}
}

func TestFind(t *testing.T) {
	c := load(t)
	e := c.Find("prioplus/fig10a")
	require.NotNil(t, e)
	assert.Equal(t, "prioplus", e.Paper())
	assert.Equal(t, "fabric", e.Kind)
	assert.True(t, e.JudgedSmall("takeover"))
	assert.False(t, e.JudgedSmall("speed"))

	takeover := e.Claim("takeover")
	require.NotNil(t, takeover)
	assert.Equal(t, "prioplus/fig10a/takeover", takeover.ID)
	assert.Equal(t, "takeover", takeover.Short())
	assert.Equal(t, "each >= 0.95", takeover.At(FullScale).String())
	assert.Equal(t, "each >= 0.9", takeover.At(SmallScale).String())
	assert.Equal(t, "each <= 2.5ms", e.Claim("speed").At(SmallScale).String(),
		"the same where small does not differ")

	assert.Nil(t, e.Claim("none"))
	assert.Nil(t, c.Find("prioplus/fig10"))
	assert.Nil(t, c.Find(""))
}

// TestSetups: everything that a set-up names is explained after it, once, recursively.
func TestSetups(t *testing.T) {
	c := load(t)
	for id, starts := range map[string][]string{
		"prioplus/fig3a": {"pp-micro, 2 senders", "pp-micro: one switch"},
		"prioplus/fig8b": {"as prioplus/fig8a with", "prioplus/fig8a: pp-10g",
			"pp-10g: PrioPlus testbed"},
		"tocc/fig6d": {"tocc-mix", "tocc-mix: tocc-nb100", "tocc-nb100: tocc-os100",
			"tocc-os100: leaf-spine"},
		"tocc/fig7d": {"as fig7c", "tocc/fig7c: as fig7a", "tocc/fig7a: tocc-8to1",
			"tocc-8to1: 8 senders"},
		"taurus/fig14b":    {"as fig14a", "taurus/fig14a: ", "taurus-link: ", "taurus-sim: "},
		"carc/eq1":         {"formula 1 and 2"},
		"fabric/incast":    {"one switch"},
		"fabric/mm1":       {"as md1", "fabric/md1: "},
		"beyond/carc-tocc": {"as beyond/carc-swift", "beyond/carc-swift: "},
	} {
		paragraphs := strings.Split(c.Find(id).FullSetup(), "\n\n")
		require.Len(t, paragraphs, len(starts), id)
		for i, start := range starts {
			assert.True(t, strings.HasPrefix(paragraphs[i], start), "%s: %q", id, paragraphs[i])
		}
	}
	assert.Equal(t, "as fig12b small with PFC off\n\nprioplus/fig12b: as fig12a small at 0.7\n\n"+
		"prioplus/fig12a: 40 hosts, 1 pod pair, 25G, 60 coflows",
		c.Find("prioplus/fig17").SmallSetup())
	assert.Equal(t, "same", c.Find("carc/eq1").SmallSetup())
}

func TestMatch(t *testing.T) {
	c := load(t)
	for _, m := range []struct {
		patterns []string
		want     []string
	}{
		{[]string{"carc/eq1"}, []string{"carc/eq1"}},
		{[]string{"prioplus/fig10?"}, []string{"prioplus/fig10a", "prioplus/fig10b",
			"prioplus/fig10c", "prioplus/fig10d"}},
		{[]string{"*/table1"}, []string{"prioplus/table1", "tocc/table1", "taurus/table1",
			"carc/table1"}},
		{[]string{"carc/fig[23]", "prioplus/appC", "carc/fig2"},
			[]string{"prioplus/appC", "carc/fig2", "carc/fig3"}},
	} {
		got, err := c.Match(m.patterns...)
		require.NoError(t, err, m.patterns)
		var ids []string
		for _, e := range got {
			ids = append(ids, e.ID)
		}
		assert.Equal(t, m.want, ids, m.patterns)
	}
	for pattern, n := range map[string]int{"fabric": 11, "fabric/*": 11, "*": 159, "*/*": 159,
		"t*": 56} {
		got, err := c.Match(pattern)
		require.NoError(t, err)
		assert.Len(t, got, n, pattern)
	}
	all, err := c.Match()
	require.NoError(t, err)
	assert.Equal(t, c.Experiments, all)
}

// TestMatchNothing: a pattern without a match is an error that lists near ids.
func TestMatchNothing(t *testing.T) {
	c := load(t)
	for pattern, want := range map[string]string{
		"prioplus/fig10": `no experiment "prioplus/fig10"; near it: prioplus/fig10a, ` +
			"prioplus/fig10b, prioplus/fig10c, prioplus/fig10d",
		"prioplus/fig8ab": "near it: prioplus/fig8a",
		"fig9eh":          "near it: prioplus/fig9, taurus/fig9eh",
		"beyond/unheard":  "near it: beyond/carc-swift, beyond/carc-prioplus",
		"none": "near it: prioplus/*, tocc/*, taurus/*, carc/*, bytetuning/*, " +
			"beyond/*, fabric/*, cc/*, host/*",
		"":       "near it: ",
		"carc/[": "syntax error in pattern",
	} {
		_, err := c.Match("carc/eq1", pattern)
		assert.ErrorContains(t, err, want, pattern)
	}
}
