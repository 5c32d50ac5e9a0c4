package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/lab/runner"
)

func lab(t *testing.T, x ...*experiment.Experiment) *Lab {
	return &Lab{Catalogue: labtest.Catalogue(t), Experiments: x}
}

// runExperiment runs an experiment into a new directory.
func runExperiment(t *testing.T, x *experiment.Experiment, shard runner.Shard) string {
	t.Helper()
	dir := t.TempDir()
	p, err := runner.NewPlan(x, experiment.Small, 1)
	require.NoError(t, err)
	_, err = runner.Run(t.Context(), []*runner.Plan{p},
		runner.Options{Dir: dir, Shard: shard, Code: runner.Code{ID: "1", Commit: "abc123"}})
	require.NoError(t, err)
	return dir
}

func html(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.WriteHTML(&b))
	return b.String()
}

// text returns the text of a page without elements and hidden content, with blanks collapsed.
func text(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	page = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "")
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if err == io.EOF {
			return strings.Join(strings.Fields(b.String()), " ")
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "style" {
				require.NoError(t, d.Skip())
			}
			b.WriteByte(' ')
		case xml.CharData:
			b.Write(token)
		}
	}
}

func TestPageIsComplete(t *testing.T) {
	dir := runExperiment(t, labtest.Dice, runner.Shard{})
	page, err := lab(t, labtest.Dice).Gather(dir)
	require.NoError(t, err)
	got := html(t, page)
	read := text(t, got)
	for _, want := range []string{
		"Experiments: 1. Claims: 1 passed, 1 failed, 1 not judged.",
		"demo Games of chance, 1654",
		"demo/dice sums of <dice> & what they tend to",
		"mean: the mean sum of n dice is 3.5 n largest relative error of the mean sum over n",
		"0 (text, 1.1)", // the paper's value
		"<= 0.2 high confidence",
		"certain: one die always shows a <six>",
		"low confidence: the paper's die was loaded",
		"✗ fails our die is <fair> the die is <fair>",
		"✓ holds",
		"○ not judged not judged at small scale",
		"demo Games of chance, 1654 1 of 1 100 % – 0 of 1 0 % 1",
		"demo: 1 demo/dice/certain (low) one die always shows a <six>. the die is <fair>",
		`throws of n dice, "n = 1, 2, 3", 500 throws of each`,
		"At small scale: n = 1, 2; 100 throws",
		"scale small seeds 1",
		"commit abc123",
		"again bin/lab run demo/dice --scale small",
		"Mean <sums> n mean, of all 1 3.",
	} {
		assert.Contains(t, read, want)
	}
	assert.Contains(t, got, `<a href="#demo-dice">demo/dice</a>`)
	assert.Contains(t, got, `<section id="demo-dice" data-paper="demo" data-id="demo/dice">`)
	assert.Contains(t, got, `<img loading="lazy" src="demo/dice/walk.svg" `+
		`alt="Running total of &lt;sums&gt;" width=`)
	assert.Contains(t, got, `<a href="demo/dice/data.csv">data.csv</a>`)
	assert.Contains(t, got, `<figure data-name="walk">`)
	assert.Contains(t, got, `<tr data-is="low fails">`)
	assert.NotContains(t, read, "coins", "of which there is nothing")
}

// TestPageStandsAlone: the page refers to nothing but files of its experiments, and data cannot
// become markup or code.
func TestPageStandsAlone(t *testing.T) {
	dir := runExperiment(t, labtest.Dice, runner.Shard{})
	page, err := lab(t, labtest.Dice).Gather(dir)
	require.NoError(t, err)
	got := html(t, page)
	for _, markup := range []string{"<dice>", "<six>", "<fair>", "<sums>", "<link", "@import",
		"ZgotmplZ"} {
		assert.NotContains(t, got, markup)
	}
	assert.Equal(t, 2, strings.Count(got, "<script"), "the chart library and our own")
	page2 := got[:strings.Index(got, "<script")]
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page2,
		-1) {
		assert.Regexp(t, "^(#|demo/dice/)", m[1])
	}
	assert.Contains(t, got, "prefers-color-scheme: dark")
	again, err := lab(t, labtest.Dice).Gather(dir)
	require.NoError(t, err)
	assert.Equal(t, got, html(t, again), "the same results make the same page")
}

// TestWrite: everything that the page refers to is beside it, in another directory, too.
func TestWrite(t *testing.T) {
	dir := runExperiment(t, labtest.Dice, runner.Shard{})
	page, err := lab(t, labtest.Dice).Gather(dir)
	require.NoError(t, err)
	for _, out := range []string{dir, filepath.Join(t.TempDir(), "page")} {
		require.NoError(t, page.Write(out))
		index, err := os.ReadFile(filepath.Join(out, "index.html"))
		require.NoError(t, err)
		before, _, _ := strings.Cut(string(index), "<script")
		for _, m := range regexp.MustCompile(`(?:src|href)="(demo[^"]*)"`).FindAllStringSubmatch(
			before, -1) {
			assert.FileExists(t, filepath.Join(out, m[1]))
		}
		script, err := os.ReadFile(filepath.Join(out, "demo/dice/figures.js"))
		require.NoError(t, err)
		assert.Regexp(t, `^labFigures\("demo/dice", \{"walk":\{"kind":"lines",`, string(script))
		assert.NotContains(t, string(script), "<sums>", "it is escaped")
	}
}

func TestSVGCannotInjectMarkup(t *testing.T) {
	f := picture("a.svg",
		[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><title>a "b" &lt;c&gt;</title>`+
			`<script>alert(1)</script></svg>`))
	assert.Equal(t, `a "b" <c>`, f.Title)
	page := &Page{Papers: []*Paper{{Experiments: []*Experiment{
		{Experiment: &claims.Experiment{ID: "demo/x"},
			Figures: []Figure{f, picture("broken.svg", []byte("<svg"))}},
	}}}}
	got := html(t, page)
	assert.NotContains(t, got, "alert(1)")
	assert.Contains(t, got, `alt="a &#34;b&#34; &lt;c&gt;"`)
	assert.Contains(t, got, `alt="broken.svg"`)
}

// TestDifferingVerdictsAreShown: the page marks claims that differ from their committed verdict or
// have none.
func TestDifferingVerdictsAreShown(t *testing.T) {
	dir, l := runExperiment(t, labtest.Dice, runner.Shard{}), lab(t, labtest.Dice)
	verdicts := string(labtest.Verdicts(t)["demo.yaml"].Data)
	flipped := strings.Replace(verdicts,
		"small: {verdict: fails, reason: the die is <fair>}", "small: {verdict: holds}", 1)
	require.NoError(t, l.Catalogue.ReadVerdicts(fstest.MapFS{"demo.yaml": {Data: []byte(flipped)}}))
	page, err := l.Gather(dir)
	require.NoError(t, err)
	assert.Equal(t, Count{Passed: 1, Failed: 1, NotJudged: 1, Differ: 1}, page.Count)
	read := text(t, html(t, page))
	assert.Contains(t, read, "1 not judged; 1 differ from the committed verdict")
	assert.Contains(t, read, "✗ fails our die is <fair> differs: holds is committed")

	require.NoError(t, l.Catalogue.ReadVerdicts(fstest.MapFS{}))
	page, err = l.Gather(dir)
	require.NoError(t, err)
	assert.Equal(t, 3, page.Count.Differ)
	assert.Contains(t, text(t, html(t, page)), "✓ holds differs: none is committed")
}

func TestShardsAreMerged(t *testing.T) {
	a := runExperiment(t, labtest.Dice, runner.Shard{Index: 0, Count: 2})
	b := runExperiment(t, labtest.Dice, runner.Shard{Index: 1, Count: 2})
	page, err := lab(t, labtest.Dice).Gather(a)
	require.NoError(t, err)
	assert.Contains(t, text(t, html(t, page)), "1 of 2 jobs are done, 0 failed: run it again.")
	page, err = lab(t, labtest.Dice).Gather(a, b, a)
	require.NoError(t, err)
	assert.Equal(t, Count{Passed: 1, Failed: 1, NotJudged: 1}, page.Count)
	assert.FileExists(t, filepath.Join(a, "demo/dice/claims.json"))
	assert.NoFileExists(t, filepath.Join(b, "demo/dice/claims.json"))
}

func TestFailuresAreShown(t *testing.T) {
	x := *labtest.Dice
	x.Run = func(*experiment.Job) error { return errors.New("the <die> fell off") }
	page, err := lab(t, &x).Gather(runExperiment(t, &x, runner.Shard{}))
	require.NoError(t, err)
	read := text(t, html(t, page))
	assert.Contains(t, read, "demo/dice n=1 seed 1: the <die> fell off")
	assert.Contains(t, read, "0 of 2 jobs are done, 2 failed")
	assert.Contains(t, read, "none judged, incomplete")
}

// TestCommittedResultsAreShownAsTheyAre: results without records, or without code here.
func TestCommittedResultsAreShownAsTheyAre(t *testing.T) {
	committed := runExperiment(t, labtest.Dice, runner.Shard{})
	_, err := lab(t, labtest.Dice).Gather(committed)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(committed, "demo/dice/jobs")))
	require.NoError(t, os.Remove(filepath.Join(committed, "demo/dice/plan.json")))
	for _, l := range []*Lab{lab(t), lab(t, labtest.Dice)} {
		page, err := l.Gather(t.TempDir(), committed)
		require.NoError(t, err)
		assert.Equal(t, Count{Passed: 1, Failed: 1, NotJudged: 1}, page.Count)
		assert.Contains(t, text(t, html(t, page)), "commit abc123")
	}
}

func TestUnexpectedVerdictsAreReported(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	put("demo/dice/claims.json", `{"experiment": "demo/dice", "scale": "full", "seeds": [1],
		"commit": "",
		"claims": [{"id": "demo/dice/mean", "value": 0.123456789, "pass": true, "note": ""}]}`)
	put("demo/coins/claims.json", `{"half`)
	put("demo/cards/claims.json", `{}`)
	page, err := lab(t).Gather(dir)
	assert.ErrorContains(t, err, "demo/cards: the catalogue has no such experiment")
	assert.ErrorContains(t, err, "demo/coins")
	require.NotNil(t, page)
	got := html(t, page)
	read := text(t, got)
	assert.Contains(t, read, "demo/dice/certain: missing from the result")
	assert.Contains(t, read, "○ not judged missing differs: fails is committed the die is <fair>")
	assert.Contains(t, got, `<td title="0.123456789">0.123</td>`)
	assert.Contains(t, read, "demo/coins/claims.json", "the error is on the page")
	_, err = lab(t).Gather(filepath.Join(dir, "nowhere"))
	assert.ErrorContains(t, err, "no such file")
}

func TestDisplay(t *testing.T) {
	for value, want := range map[string]string{
		"0.645": "0.645", "0.64501234": "0.645", "1": "1", "12": "12", "123456": "123456",
		"0.9999": "1", "999.97": "1000", "12345.678901": "12346", "98015641599.99998": "9.8·10¹⁰",
		"0.0000123": "1.23·10⁻⁵", "-0.12345": "-0.123", "0": "0", "true": "true",
		`"infinite"`: "infinite", `"-1.23456789us"`: "-1.23 µs", `"450us"`: "450 µs",
		`"1.65ms"`: "1.65 ms", `"0s"`: "0 s", `"4021524B"`: "4.02 MB", `"0B"`: "0 B",
		`"80ps"`: "0.08 ns", `"42.666666Mb/s"`: "42.7 Mb/s", "[1, 0.33333]": "1, 0.333",
		"null": "null",
	} {
		var v claims.Value
		require.NoError(t, json.Unmarshal([]byte(value), &v), value)
		assert.Equal(t, want, display(v), value)
	}
}
