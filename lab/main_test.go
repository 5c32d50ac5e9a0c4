package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/lab/check"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/lab/report"
)

// shell runs the program in this process.
type shell struct {
	lab
	env       map[string]string
	out, errs bytes.Buffer
}

func newShell(t *testing.T, x ...*experiment.Experiment) *shell {
	s := &shell{env: map[string]string{}}
	s.lab = lab{
		Lab:    report.Lab{Catalogue: labtest.Catalogue(t), Experiments: x},
		getenv: func(name string) string { return s.env[name] },
		out:    &s.out,
		errs:   &s.errs,
	}
	return s
}

// do runs a command line and returns its exit code, standard output and standard error.
func (s *shell) do(ctx context.Context, args ...string) (code int, out, errs string) {
	s.out.Reset()
	s.errs.Reset()
	code = s.run(ctx, args...)
	return code, s.out.String(), s.errs.String()
}

func TestFromRunToCheck(t *testing.T) {
	s, dir := newShell(t, labtest.Dice), t.TempDir()

	code, out, errs := s.do(t.Context(), "run", "demo/dice", "--out", dir)
	require.Zero(t, code, errs)
	assert.Equal(t, "demo/dice: claims passed 1, failed 1, not judged 1: "+filepath.Join(dir,
		"demo/dice/claims.json")+
		"\n  demo/dice/certain fails: expected equals 6, got 1: our die is <fair>\n", out)
	assert.Contains(t, errs, "[2/2] demo/dice n=")

	code, _, errs = s.do(t.Context(), "run", "demo/dice", "--out", dir)
	require.Zero(t, code)
	assert.Equal(t, "done before: 2 of 2\n", errs)

	code, out, errs = s.do(t.Context(), "report", dir)
	require.Zero(t, code, errs)
	assert.Equal(t, filepath.Join(dir, "index.html")+"\n", out)
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "bin/lab run demo/dice --scale small")

	beside := filepath.Join(t.TempDir(), "page")
	code, out, errs = s.do(t.Context(), "report", dir, "--out", beside)
	require.Zero(t, code, errs)
	assert.Equal(t, filepath.Join(beside, "index.html")+"\n", out)
	assert.FileExists(t, filepath.Join(beside, "demo/dice/walk.svg"))

	code, out, errs = s.do(t.Context(), "check", "demo", "--dir", dir)
	assert.Equal(t, cli.Failed, code)
	assert.Equal(t, "demo/coins: no "+filepath.Join(dir, "demo/coins/claims.json")+"\n"+
		"of 1 claims that hold, 1 compare results that can be exchanged: 1 fail after an "+
		"exchange, 0 do not discriminate\n", out)
	assert.Contains(t, errs, "lab: results of demo in "+dir+": problems: 1\n")
}

// TestRunShowsDifferences: a run prints verdicts that differ from the committed ones, and exits
// with 0.
func TestRunShowsDifferences(t *testing.T) {
	s := newShell(t, labtest.Dice)
	text := string(labtest.Verdicts(t)["demo.yaml"].Data)
	text = strings.Replace(text, "small: {verdict: holds}",
		"small: {verdict: fails, reason: bad luck}", 1)
	require.NoError(t, s.Catalogue.ReadVerdicts(fstest.MapFS{"demo.yaml": {Data: []byte(text)}}))
	code, out, errs := s.do(t.Context(), "run", "demo/dice", "--out", t.TempDir())
	require.Zero(t, code, errs)
	assert.Contains(t, out, "\n  NOT AS COMMITTED: demo/dice/mean: holds at small scale, "+
		"but the committed verdict is fails")
	assert.Equal(t, 1, strings.Count(out, "NOT AS COMMITTED"))
}

func TestList(t *testing.T) {
	s := newShell(t, labtest.Dice)
	code, out, _ := s.do(t.Context(), "list")
	require.Zero(t, code)
	assert.Equal(t, ""+
		"ID          KIND   CLAIMS  JOBS  TITLE\n"+
		"demo/dice   model  3       2×1   sums of <dice> & what they tend to\n"+
		"demo/coins  model  1       –     coins\n", out)
	_, out, _ = s.do(t.Context(), "list", "demo/d*", "--scale", "full")
	assert.Contains(t, out, "3×3")
	assert.NotContains(t, out, "coins")
}

func TestRunOfAnExperimentWithoutCode(t *testing.T) {
	s, dir := newShell(t, labtest.Dice), t.TempDir()
	code, out, errs := s.do(t.Context(), "run", "demo/coins", "--out", dir)
	assert.Equal(t, cli.Failed, code)
	assert.Empty(t, out)
	assert.Equal(t, "lab: without code: demo/coins\nlab: nothing to run\n", errs)

	code, out, errs = s.do(t.Context(), "run", "demo", "--out", dir)
	assert.Zero(t, code, "experiments with code run")
	assert.Contains(t, out, "demo/dice: claims passed 1")
	assert.Contains(t, errs, "lab: without code: demo/coins\n")
}

func TestShardsAndReport(t *testing.T) {
	s := newShell(t, labtest.Dice)
	a, b := t.TempDir(), t.TempDir()
	code, out, errs := s.do(t.Context(), "run", "demo/dice", "--out", a, "--shard", "0/2", "--seed",
		"5")
	require.Zero(t, code, errs)
	assert.Equal(t, "demo/dice: jobs done 1 of 2\n", out)
	s.env = map[string]string{"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1",
		"SLURM_ARRAY_TASK_COUNT": "2"}
	code, out, errs = s.do(t.Context(), "run", "demo/dice", "--out", b, "--seed", "5")
	require.Zero(t, code, errs)
	assert.Equal(t, "demo/dice: jobs done 1 of 2\n", out)
	assert.Contains(t, errs, "[1/1] demo/dice n=2 seed 5")
	code, _, errs = s.do(t.Context(), "report", a, b)
	require.Zero(t, code, errs)
	page, err := os.ReadFile(filepath.Join(a, "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "bin/lab run demo/dice --scale small --seed 5")
	assert.Contains(t, string(page), "1 passed")
}

func TestAFailedJobFailsTheRun(t *testing.T) {
	x := *labtest.Dice
	x.Run = func(j *experiment.Job) error {
		if j.Params == 1 {
			return errors.New("the die fell off")
		}
		return labtest.Dice.Run(j)
	}
	code, out, errs := newShell(t, &x).do(t.Context(), "run", "demo/dice", "--out", t.TempDir())
	assert.Equal(t, cli.Failed, code)
	assert.Equal(t, "demo/dice: jobs done 1 of 2\n", out)
	assert.Contains(t, errs, "lab: demo/dice n=1 seed 1: the die fell off\n")
	assert.Contains(t, errs, "lab: failed jobs: 1\n")
}

func TestFaultyExperimentFailsTheRun(t *testing.T) {
	x := *labtest.Dice
	x.Judge = func(r *experiment.Results) { r.Cell("n=7") }
	code, out, errs := newShell(t, &x).do(t.Context(), "run", "demo/dice", "--out", t.TempDir())
	assert.Equal(t, cli.Failed, code)
	assert.Equal(t, "demo/dice: not judged\n", out)
	assert.Contains(t, errs, `no cell "n=7"`)
}

func TestBudgetAndInterrupt(t *testing.T) {
	left := "lab: jobs left: 2 of 2; the same command goes on\n"
	code, out, errs := newShell(t, labtest.Dice).do(t.Context(), "run", "demo", "--out",
		t.TempDir(), "--budget", "1ns")
	assert.Equal(t, cli.Failed, code)
	assert.Equal(t, "demo/dice: jobs done 0 of 2\n", out)
	assert.Contains(t, errs, left)

	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	code, _, errs = newShell(t, labtest.Dice).do(interrupted, "run", "demo", "--out", t.TempDir())
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, left)
}

func TestCheckOfCompletePapers(t *testing.T) {
	s, dir := newShell(t, labtest.Dice), t.TempDir()
	code, _, errs := s.do(t.Context(), "check", "--dir", dir)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "COMPLETE: no such file")

	complete := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "COMPLETE"), []byte(text), 0o644))
	}
	complete("# none yet\n")
	code, out, _ := s.do(t.Context(), "check", "--dir", dir)
	assert.Zero(t, code)
	assert.Contains(t, out, "nothing to check")

	complete("demo\n")
	code, out, _ = s.do(t.Context(), "check", "--dir", dir)
	assert.Equal(t, cli.Failed, code)
	assert.Equal(t, 2, strings.Count(out, "\n"), "both experiments are missing")

	s.Catalogue.Experiments = s.Catalogue.Experiments[:1]
	require.NoError(t, s.Catalogue.ReadVerdicts(verdictsOnDice(t)))
	code, _, errs = s.do(t.Context(), "run", "demo", "--out", dir)
	require.Zero(t, code, errs)
	code, out, _ = s.do(t.Context(), "check", "--dir", dir)
	assert.Zero(t, code)
	assert.Equal(t, "of 1 claims that hold, 1 compare results that can be exchanged: 1 "+
		"fail after an exchange, 0 do not discriminate\nresults of demo in "+dir+
		": complete, and as expected\n", out)
}

// verdictsOnDice returns labtest's verdicts on demo/dice.
func verdictsOnDice(t *testing.T) fstest.MapFS {
	text, _, _ := strings.Cut(string(labtest.Verdicts(t)["demo.yaml"].Data), "- claim: demo/coins")
	return fstest.MapFS{"demo.yaml": {Data: []byte(text)}}
}

// TestCheckTurnsRed: check fails if a verdict is flipped in either direction, missing, or on an
// unknown claim. The command that it prints makes it pass again.
func TestCheckTurnsRed(t *testing.T) {
	results := t.TempDir()
	s := newShell(t, labtest.Dice)
	code, _, errs := s.do(t.Context(), "run", "demo/dice", "--out", results)
	require.Zero(t, code, errs)
	const mean = "  small: {verdict: holds}\n"
	const certain = "  small: {verdict: fails, reason: the die is <fair>}\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"as committed", "", "", ""},
		{"held, fails", certain, mean,
			"demo/dice/certain: fails at small scale, but the committed verdict is holds"},
		{"failed, holds", mean, certain,
			"demo/dice/mean: holds at small scale, but the committed verdict is fails"},
		{"missing", mean, "", "demo/dice/mean: no verdict at small scale is committed"},
		{"no entry",
			"- claim: demo/dice/mean\n  expect: '<= 0.2'\n  full: {verdict: holds}\n" + mean, "",
			"demo/dice/mean: no verdict is committed"},
		{"unknown", "demo/dice/mean", "demo/dice/mode",
			"demo/dice/mode: a verdict is committed, but the catalogue has no such claim"},
		{"another condition", "<= 0.2", "<= 0.3", `demo/dice/mean: its verdict is on "<= 0.3"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, verdicts := newShell(t, labtest.Dice), t.TempDir()
			s.Catalogue.Experiments = s.Catalogue.Experiments[:1]
			text := string(verdictsOnDice(t)["demo.yaml"].Data)
			require.Contains(t, text, c.old)
			file := filepath.Join(verdicts, "demo.yaml")
			text = strings.Replace(text, c.old, c.new, 1)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			args := []string{"check", "demo/dice", "--dir", results, "--verdicts", verdicts}
			code, out, errs := s.do(t.Context(), args...)
			if c.want == "" {
				assert.Zero(t, code, out)
			} else {
				assert.Equal(t, cli.Failed, code)
				assert.Contains(t, out, c.want)
				assert.Contains(t, errs, "bin/lab check --update --dir "+results+" 'demo/dice'")
			}
			code, out, _ = s.do(t.Context(), append(args, "--update")...)
			assert.Zero(t, code, out)
			code, out, _ = s.do(t.Context(), args...)
			assert.Zero(t, code, out)
		})
	}
	code, _, errs = s.do(t.Context(), "check", "demo/dice", "--dir", results, "--update")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "--update: want to run in the module's directory")
}

// TestCommittedResults: the results in docs/lab are complete and agree with the verdicts.
func TestCommittedResults(t *testing.T) {
	const dir = "../docs/lab"
	c, err := claims.Load()
	require.NoError(t, err)
	papers, err := check.Complete(dir)
	require.NoError(t, err)
	all, err := c.Match(papers...)
	require.NoError(t, err)
	assert.Len(t, all, len(c.Experiments), "all papers are complete")
	for _, p := range check.Results(c, dir, all) {
		t.Error(p)
	}
	l := &lab{Lab: report.Lab{Catalogue: c, Experiments: experiments()}}
	stale, err := check.Stale(dir, all, l.setup)
	require.NoError(t, err)
	for _, p := range stale {
		t.Error(p)
	}
}

// TestStaleResults: a result of full scale is stale if its set-up has changed, the number of seeds,
// or what the code computes. STALE must list such results, and no others.
func TestStaleResults(t *testing.T) {
	results, beside := t.TempDir(), t.TempDir()
	verdicts := filepath.Join(beside, "verdicts")
	require.NoError(t, os.Mkdir(verdicts, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(verdicts, "demo.yaml"),
		verdictsOnDice(t)["demo.yaml"].Data, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(results, "COMPLETE"), []byte("demo\n"), 0o644))
	dice := *labtest.Dice
	s := newShell(t, &dice)
	s.Catalogue.Experiments = s.Catalogue.Experiments[:1]
	code, _, errs := s.do(t.Context(), "run", "demo", "--scale", "full", "--out", results)
	require.Zero(t, code, errs)
	checks := func(exit int, want string) {
		t.Helper()
		code, out, errs := s.do(t.Context(), "check", "--dir", results, "--verdicts", verdicts)
		assert.Equal(t, exit, code, out+errs)
		assert.Contains(t, out, want)
	}
	checks(0, "complete, and as expected")
	cells := dice.Cells
	dice.Cells = func(s experiment.Scale) []experiment.Cell { return cells(s)[:1] }
	checks(cli.Failed, "demo/dice: stale: the set-up has changed")
	dice.Cells = cells
	checks(0, "complete, and as expected")
	dice.Seeds = func(experiment.Scale) int { return 4 }
	checks(cli.Failed, "demo/dice: stale: the set-up has changed")
	dice.Seeds = nil
	checks(0, "complete, and as expected")
	require.NoError(t, os.WriteFile(filepath.Join(beside, "behaviour.yaml"),
		[]byte("demo/dice: 0123456789ab\n"), 0o644))
	checks(cli.Failed, "demo/dice: stale: the code computes something else at small scale")

	code, _, errs = s.do(t.Context(), "check", "--update", "--dir", results, "--verdicts", verdicts)
	require.Zero(t, code, errs)
	checks(0, "stale: 1 results, which "+filepath.Join(results, "STALE")+" lists")
	require.NoError(t, os.WriteFile(filepath.Join(beside, "behaviour.yaml"),
		[]byte("demo/dice: 41e4c683b6d4\n"), 0o644))
	checks(cli.Failed, "STALE lists it, and it is not stale")
}

// TestPageOfCommittedResults: the page of all results, without its figures, is at most 1.5 MB.
func TestPageOfCommittedResults(t *testing.T) {
	c, err := claims.Load()
	require.NoError(t, err)
	page, err := (&report.Lab{Catalogue: c}).Gather("../docs/lab")
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, page.WriteHTML(&b))
	assert.Less(t, b.Len(), 1_500_000)
}

func TestUsageErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"requires at least 1 arg(s)":             {"run"},
		"requires at least 1 arg":                {"report"},
		"unknown flag: --fast":                   {"run", "demo", "--fast"},
		`invalid argument "large" for "--scale"`: {"run", "demo", "--scale", "large"},
		`there is no experiment "demo/cards"`:    {"run", "demo/cards"},
		`there is no experiment "poker"`:         {"list", "poker"},
		`there is no experiment "demo/poker"`:    {"check", "demo/poker"},
		`shard "2/2": want index/count`:          {"run", "demo", "--shard", "2/2"},
		`invalid argument "soon" for "--budget"`: {"run", "demo", "--budget", "soon"},
		`unknown command "gamble" for "lab"`:     {"gamble"},
	} {
		code, out, errs := newShell(t, labtest.Dice).do(t.Context(), args...)
		assert.Equal(t, cli.Misuse, code, want)
		assert.Empty(t, out, want)
		assert.Contains(t, errs, want)
	}
	s := newShell(t, labtest.Dice)
	s.env = map[string]string{"JOB_COMPLETION_INDEX": "1"}
	code, _, errs := s.do(t.Context(), "run", "demo")
	assert.Equal(t, cli.Misuse, code)
	assert.Contains(t, errs, "JOB_COMPLETIONS")
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"run", "--help"}, {"list", "--help"},
		{"report", "--help"}, {"check", "--help"}} {
		code, out, errs := newShell(t).do(t.Context(), args...)
		assert.Zero(t, code)
		assert.Contains(t, out, "Usage:")
		assert.Empty(t, errs)
	}
}

// TestExperimentsAreInTheCatalogue: every experiment of this program is in its catalogue, once, and
// has cells at both scales.
func TestExperimentsAreInTheCatalogue(t *testing.T) {
	c, err := claims.Load()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, x := range experiments() {
		assert.NotNil(t, c.Find(x.ID), x.ID)
		assert.False(t, seen[x.ID], "%s is listed twice", x.ID)
		seen[x.ID] = true
		for _, s := range []experiment.Scale{experiment.Small, experiment.Full} {
			_, err := x.CellsAt(s)
			assert.NoError(t, err)
			assert.Positive(t, x.SeedsAt(s), x.ID)
		}
	}
}
