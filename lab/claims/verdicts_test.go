package claims

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// minimalVerdicts are the verdicts on minimalPaper. At full scale p/a/fast holds and p/a/full
// fails.
const minimalVerdicts = `
- claim: p/a/fast
  expect: <= 1ms
  full: {verdict: holds}
  small: {verdict: not judged, machine: true, reason: the machine's time}
- claim: p/a/full
  expect: '>= 0.9'
  expect_small: '>= 0.8'
  full: {verdict: fails, reason: the buffer is ours}
  small: {verdict: not judged, reason: not judged at small scale}
- claim: p/b/right
  expect: equals 0
  small: {verdict: holds}
`

// withVerdicts returns the minimal catalogue with a file of verdicts.
func withVerdicts(t *testing.T, text string) *Catalogue {
	t.Helper()
	c, err := parse(minimalCommon, minimalPaper)
	require.NoError(t, err)
	require.NoError(t, c.ReadVerdicts(fstest.MapFS{"p.yaml": {Data: []byte(text)}}))
	return c
}

func TestExpected(t *testing.T) {
	c := withVerdicts(t, minimalVerdicts)
	assert.Empty(t, c.CheckVerdicts())
	assert.Equal(t, &ExpectedVerdict{Fails, false, "the buffer is ours"},
		c.Find("p/a").Claim("full").Expected(FullScale))
	assert.Nil(t, c.Find("p/b").Claim("right").Expected(FullScale))
	require.NoError(t, c.ReadVerdicts(fstest.MapFS{}))
	assert.Nil(t, c.Find("p/a").Claim("full").Expected(FullScale))
}

// TestCommittedVerdicts: the verdicts that are built into the program cover all claims of the
// catalogue and no others, and have reasons. Every experiment has a run at full scale.
func TestCommittedVerdicts(t *testing.T) {
	c := load(t)
	for _, problem := range c.CheckVerdicts() {
		t.Error(problem)
	}
	for _, e := range c.Experiments {
		for i := range e.Claims {
			claim := &e.Claims[i]
			full, small := claim.Expected(FullScale), claim.Expected(SmallScale)
			if full == nil || small == nil {
				t.Errorf("%s: no verdict at full or at small scale", claim.ID)
				continue
			}
			if !e.JudgedSmall(claim.Short()) {
				assert.Equal(t, &ExpectedVerdict{NotJudged, false, onlyFull}, small, claim.ID)
			}
		}
	}
	for _, p := range c.Papers() {
		dir := t.TempDir()
		require.NoError(t, c.WriteVerdicts(dir, p.Name))
		written, err := os.ReadFile(filepath.Join(dir, p.Name+".yaml"))
		require.NoError(t, err)
		committed, err := verdictFiles.ReadFile("verdicts/" + p.Name + ".yaml")
		require.NoError(t, err)
		assert.Equal(t, string(committed), string(written), "as lab check --update writes it")
		for line := range strings.Lines(string(written)) {
			assert.LessOrEqual(t, len(line), 101, line)
		}
	}
}

func TestCheckVerdicts(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"p/a/full", "p/a/empty",
			"p/a/empty: a verdict is committed, but the catalogue has no such claim"},
		{"p/a/full", "p/a/empty", "p/a/full: no verdict is committed"},
		{"p/b/right", "q/b/right",
			"q/b/right: a verdict is committed, but the catalogue has no such claim"},
		{"<= 1ms", "<= 2ms",
			`p/a/fast: its verdict is on "<= 2ms", small ""; ` +
				`the catalogue expects "<= 1ms", small ""`},
		{"  expect_small: '>= 0.8'\n", "", `the catalogue expects ">= 0.9", small ">= 0.8"`},
		{"  small: {verdict: holds}\n", "", "p/b/right: no verdict at small scale is committed"},
		{"verdict: fails, reason: the buffer is ours", "verdict: fails",
			`p/a/full: at full scale: verdict "fails" lacks a reason`},
		{"machine: true, reason: the machine's time", "machine: true",
			`p/a/fast: at small scale: verdict "not judged" lacks a reason`},
		{"verdict: fails", "verdict: passes",
			`p/a/full: at full scale: verdict "passes": want holds, fails or not judged`},
		{"verdict: fails", "verdict: fails, machine: true",
			`verdict "fails" of a value of the machine: want not judged`},
	} {
		require.Contains(t, minimalVerdicts, c.old)
		text := strings.Replace(minimalVerdicts, c.old, c.new, 1)
		problems := withVerdicts(t, text).CheckVerdicts()
		assert.Contains(t, strings.Join(problems, "\n"), c.want)
	}
}

func TestReadVerdictsErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"p/a/full", "p/a/fast", "claims: verdicts: p.yaml: p/a/fast: duplicate entry"},
		{"claim: p/a/full", "claim: ''", "claims: verdicts: p.yaml: an entry without a claim"},
		{"- claim: p/b", "-\n- claim: p/b", "claims: verdicts: p.yaml: an entry without a claim"},
		{"expect:", "expects:", "claims: verdicts: claims: p.yaml: yaml: "},
	} {
		require.Contains(t, minimalVerdicts, c.old)
		catalogue, err := parse(minimalCommon, minimalPaper)
		require.NoError(t, err)
		text := strings.Replace(minimalVerdicts, c.old, c.new, 1)
		err = catalogue.ReadVerdicts(fstest.MapFS{"p.yaml": {Data: []byte(text)}})
		assert.ErrorContains(t, err, c.want)
	}
}

// TestCompare: any difference from the committed verdict is a problem, in both directions, whether
// or not the run has a note.
func TestCompare(t *testing.T) {
	fast := func(pass *bool) Verdict {
		return Verdict{"p/a/fast", Text("2ms"), pass, "a note", nil, nil}
	}
	full := func(pass *bool) Verdict {
		return Verdict{"p/a/full", Number(0.5), pass, "a note", nil, nil}
	}
	for _, c := range []struct {
		name  string
		scale Scale
		v     Verdict
		want  string
	}{
		{"holds as before", FullScale, fast(yes()), ""},
		{"fails as before", FullScale, full(no()), ""},
		{"held and fails", FullScale, fast(no()),
			"p/a/fast: fails at full scale, but the committed verdict is holds: " +
				"expected <= 1ms, got 2ms: a note"},
		{"failed and holds", FullScale, full(yes()),
			"p/a/full: holds at full scale, but the committed verdict is fails; " +
				"update the verdict: " +
				"expected >= 0.9, got 0.5: a note"},
		{"held and is not judged", FullScale, fast(nil),
			"p/a/fast: not judged at full scale, but the committed verdict is holds"},
		{"was not judged and holds", SmallScale, full(yes()),
			"p/a/full: holds at small scale, but the committed verdict is not judged"},
		{"was not judged and fails", SmallScale, full(no()),
			"p/a/full: fails at small scale, but the committed verdict is not judged"},
		{"not judged as before", SmallScale, full(nil), ""},
		{"this machine fails", SmallScale, fast(no()), ""},
		{"this machine passes", SmallScale, fast(yes()), ""},
		{"an unknown claim is for Check to report", FullScale, Verdict{ID: "p/a/none"}, ""},
	} {
		e := withVerdicts(t, minimalVerdicts).Find("p/a")
		r := &Result{Experiment: e.ID, Scale: c.scale, Claims: []Verdict{c.v}}
		problems := strings.Join(Compare(e, r), "\n")
		if c.want == "" {
			assert.Empty(t, problems, c.name)
		} else {
			assert.Contains(t, problems, c.want, c.name)
		}
	}
	e := withVerdicts(t, minimalVerdicts).Find("p/b")
	right := []Verdict{{"p/b/right", Number(0), yes(), "", nil, nil}}
	assert.Equal(t, []string{"p/b/right: holds at full scale, and no verdict is committed"},
		Compare(e, &Result{Experiment: e.ID, Scale: FullScale, Claims: right}))
}

// TestUpdateVerdicts: after an update the result agrees, unchanged verdicts have kept their
// reasons, and the file decodes to what was encoded.
func TestUpdateVerdicts(t *testing.T) {
	c, dir := withVerdicts(t, minimalVerdicts), t.TempDir()
	e := c.Find("p/a")
	r := &Result{Experiment: e.ID, Scale: FullScale, Claims: []Verdict{
		{"p/a/fast", Text("2ms"), no(), "it's: " + strings.Repeat("slower than it was # ", 12),
			nil, nil},
		{"p/a/full", Number(0.5), no(), "another note", nil, nil},
	}}
	assert.Equal(t, []string{"p/a/fast at full scale: fails, was holds"}, UpdateVerdicts(e, r))
	assert.Empty(t, UpdateVerdicts(e, r), "a second update changes nothing")
	require.NoError(t, c.WriteVerdicts(dir, "p"))

	back := withVerdicts(t, "[]")
	require.NoError(t, back.ReadVerdicts(os.DirFS(dir)))
	assert.Empty(t, back.CheckVerdicts())
	e = back.Find("p/a")
	assert.Empty(t, Compare(e, r))
	assert.Equal(t, strings.TrimSpace(r.Claims[0].Note), e.Claim("fast").Expected(FullScale).Reason)
	assert.Equal(t, "the buffer is ours", e.Claim("full").Expected(FullScale).Reason)
	assert.True(t, e.Claim("fast").Expected(SmallScale).Machine)

	fast := []Verdict{{"p/a/fast", Text("2ms"), no(), "", nil, nil}}
	small := &Result{Experiment: e.ID, Scale: SmallScale, Claims: fast}
	assert.Empty(t, UpdateVerdicts(e, small), "the machine decides")
	r.Claims[0].Pass, r.Claims[0].Note = nil, ""
	assert.Equal(t, []string{"p/a/fast at full scale: not judged, was fails"}, UpdateVerdicts(e, r))
	assert.Contains(t, strings.Join(back.CheckVerdicts(), "\n"), "lacks a reason")
	assert.Error(t, back.WriteVerdicts(filepath.Join(dir, "nowhere"), "p"))
}

// TestUpdateOfClaimsJudgedOnlyAtFullScale: the reason is onlyFull, not the note of the run.
func TestUpdateOfClaimsJudgedOnlyAtFullScale(t *testing.T) {
	e := withVerdicts(t, "[]").Find("p/a")
	full := []Verdict{{"p/a/full", Number(0.5), nil, "9 seeds", nil, nil}}
	r := &Result{Experiment: e.ID, Scale: SmallScale, Claims: full}
	assert.Equal(t, []string{"p/a/full at small scale: not judged, was none"}, UpdateVerdicts(e, r))
	assert.Equal(t, &ExpectedVerdict{NotJudged, false, onlyFull},
		e.Claim("full").Expected(SmallScale))
}

// TestVerdictFilesArePapers: every file of verdicts belongs to a paper.
func TestVerdictFilesArePapers(t *testing.T) {
	files, err := verdictFiles.ReadDir("verdicts")
	require.NoError(t, err)
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".yaml")
		assert.True(t, load(t).hasPaper(name), name)
	}
}
