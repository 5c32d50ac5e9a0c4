package runner

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/sim/figure"
)

// runDice runs demo/dice into a directory and returns its plan.
func runDice(t *testing.T, dir string, s experiment.Scale, o Options) *Plan {
	t.Helper()
	return playOf(t, labtest.Dice, dir, s, o)
}

func playOf(t *testing.T, x *experiment.Experiment, dir string, s experiment.Scale,
	o Options) *Plan {
	t.Helper()
	p, err := NewPlan(x, s, 1)
	require.NoError(t, err)
	o.Dir = dir
	if o.Code.ID == "" {
		o.Code = oneCode
	}
	_, err = Run(t.Context(), []*Plan{p}, o)
	require.NoError(t, err)
	return p
}

func dice(t *testing.T) *claims.Experiment { return labtest.Catalogue(t).Find("demo/dice") }

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(dir, "demo/dice"))
	require.NoError(t, err)
	for _, e := range entries {
		if !e.IsDir() {
			text, err := os.ReadFile(filepath.Join(dir, "demo/dice", e.Name()))
			require.NoError(t, err)
			files[e.Name()] = string(text)
		}
	}
	return files
}

// Each seed is judged alone, too, if there are several and their values differ.
func TestFinishJudgesSeeds(t *testing.T) {
	x := *labtest.Dice
	x.Judge = func(r *experiment.Results) {
		seeds := float64(len(r.Seeds()))
		r.Claim("mean", seeds/10)
		r.Claim("certain", 6)
		r.Claim("spread", []float64{1, seeds})
	}
	x.Figures, x.Seeds = nil, func(experiment.Scale) int { return 3 }
	dir := t.TempDir()
	_, err := Finish(dir, playOf(t, &x, dir, experiment.Full, Options{}), dice(t), &oneCode)
	require.NoError(t, err)
	r, err := claims.ReadResult(filepath.Join(dir, "demo/dice/claims.json"))
	require.NoError(t, err)
	assert.Equal(t, claims.Fails, r.Claims[0].Outcome(), "0.3 of all three seeds")
	assert.Empty(t, r.Claims[0].BySeed, "0.1 of each")
	x.Judge = func(r *experiment.Results) {
		r.Claim("mean", float64(r.Seeds()[0].Cell("n=1").Values("sum")[0]))
		r.Claim("certain", 6)
		r.Claim("spread", []float64{1, 2})
	}
	_, err = Finish(dir, playOf(t, &x, dir, experiment.Full, Options{}), dice(t), &oneCode)
	require.NoError(t, err)
	r, err = claims.ReadResult(filepath.Join(dir, "demo/dice/claims.json"))
	require.NoError(t, err)
	require.Len(t, r.Claims[0].BySeed, 3)
	assert.Equal(t, r.Claims[0].Value, r.Claims[0].BySeed[0].Value)
	assert.Empty(t, r.Claims[1].BySeed)
}

// TestFinishExchangesResults: claims at small scale are judged again with exchanged results.
func TestFinishExchangesResults(t *testing.T) {
	x := *labtest.Dice
	x.Judge = func(r *experiment.Results) {
		r.Claim("mean", r.Cell("n=1").Values("sum").Mean()-r.Cell("n=2").Values("sum").Mean())
		r.Claim("certain", 1)
		r.Claim("spread", []float64{1, 2})
	}
	x.Figures = nil
	for _, s := range []experiment.Scale{experiment.Small, experiment.Full} {
		dir := t.TempDir()
		_, err := Finish(dir, playOf(t, &x, dir, s, Options{}), dice(t), &oneCode)
		require.NoError(t, err)
		r, err := claims.ReadResult(filepath.Join(dir, "demo/dice/claims.json"))
		require.NoError(t, err)
		require.Equal(t, claims.Holds, r.Claims[0].Outcome())
		if s == experiment.Full {
			assert.Nil(t, r.Claims[0].Exchange)
		} else if assert.NotNil(t, r.Claims[0].Exchange) {
			assert.Equal(t, "n=1 and n=2", r.Claims[0].Exchange.Of)
			assert.False(t, r.Claims[0].Exchange.Holds)
		}
	}
}

func TestFinishWritesAllOfAnExperiment(t *testing.T) {
	dir := t.TempDir()
	p := runDice(t, dir, experiment.Small, Options{})
	state, err := Finish(dir, p, dice(t), &oneCode)
	require.NoError(t, err)
	assert.True(t, state.Complete())
	assert.Equal(t, []string{"c1"}, state.Commits)

	r, err := claims.ReadResult(filepath.Join(dir, "demo/dice/claims.json"))
	require.NoError(t, err)
	assert.Empty(t, claims.Check(dice(t), r))
	assert.Equal(t, "demo/dice", r.Experiment)
	assert.Equal(t, experiment.Small, r.Scale)
	assert.Equal(t, []uint64{1}, r.Seeds)
	assert.Equal(t, "c1", r.Commit)
	assert.Equal(t, "bin/lab run demo/dice --scale small", r.Command)
	require.Len(t, r.Claims, 3, "every claim")
	assert.True(t, *r.Claims[0].Pass)
	assert.False(t, *r.Claims[1].Pass)
	assert.Equal(t, "our die is <fair>", r.Claims[1].Note)
	assert.Nil(t, r.Claims[2].Pass)
	assert.NotEmpty(t, r.Claims[2].Note)

	files := contents(t, dir)
	assert.Len(t, files, 5)
	assert.Contains(t, files["walk.svg"], "Running total of &lt;sums&gt;")
	assert.True(t, strings.HasPrefix(files["means.csv"], "# Mean <sums>\nn,\"mean, of all\"\n1,"))
	assert.True(t, strings.HasPrefix(files["data.csv"], "cell,seed,name,x,y\nn=1,1,sum,,"))
	assert.Equal(t, 1+2*(100+100), strings.Count(files["data.csv"], "\n"))
}

// tookLine is the line of the core time that an experiment took, which no seed determines. It is
// missing if that rounds to 0.
var tookLine = regexp.MustCompile(`(?m)^ *"seconds": .*\n`)

// TestResultsAreReproducible: the same code and seed give the same bytes, whatever the number of
// workers.
func TestResultsAreReproducible(t *testing.T) {
	var all []map[string]string
	for _, workers := range []int{1, 4} {
		dir := t.TempDir()
		p := runDice(t, dir, experiment.Full, Options{Workers: workers})
		_, err := Finish(dir, p, dice(t), &oneCode)
		require.NoError(t, err)
		files := contents(t, dir)
		for name, text := range files {
			files[name] = tookLine.ReplaceAllString(text, "")
		}
		all = append(all, files)
	}
	assert.Equal(t, all[0], all[1])
}

func TestDataIsCSV(t *testing.T) {
	j := experiment.NewJob(t.Context(), experiment.Cell{Name: `a, "b"`}, experiment.Small, 7, nil)
	j.Value("x\ny", 0.1, 1e-300)
	j.Series("q").Add(1, 2)
	text := dataCSV([]experiment.Done{{Cell: j.Cell, Seed: 7, Record: j.Record()}})
	assert.Equal(t, "cell,seed,name,x,y\n"+
		"\"a, \"\"b\"\"\",7,\"x\ny\",,0.1\n\"a, \"\"b\"\"\",7,\"x\ny\",,1e-300\n\"a, "+
		"\"\"b\"\"\",7,q,1,2\n", string(text))
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{`a, "b"`, "7", "x\ny", "", "0.1"}, rows[1])
}

func TestFinishWaitsForAllJobs(t *testing.T) {
	dir := t.TempDir()
	p := runDice(t, dir, experiment.Full, Options{Shard: Shard{0, 2}})
	state, err := Finish(dir, p, dice(t), &oneCode)
	require.NoError(t, err)
	assert.Equal(t, 9, state.Total)
	assert.Equal(t, 5, state.Done)
	assert.False(t, state.Complete())
	assert.NotContains(t, contents(t, dir), "claims.json")

	runDice(t, dir, experiment.Full, Options{Shard: Shard{1, 2}, Code: otherCode})
	state, err = Finish(dir, p, dice(t), &otherCode)
	require.NoError(t, err)
	assert.Equal(t, 4, state.Done, "records of other code do not count")

	state, err = Finish(dir, p, dice(t), nil)
	require.NoError(t, err)
	assert.True(t, state.Complete(), "records of any code")
	assert.Equal(t, []string{"c1", "c2"}, state.Commits)
	assert.Contains(t, contents(t, dir)["claims.json"], `"commit": "c1, c2"`)
}

// TestOldResultsAreRemoved checks that the files of an earlier Finish are removed once there are
// newer records, and not before.
func TestOldResultsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	p := runDice(t, dir, experiment.Small, Options{})
	_, err := Finish(dir, p, dice(t), &oneCode)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "demo/dice/renamed-since.svg"), nil, 0o644))
	before := contents(t, dir)

	full, err := NewPlan(labtest.Dice, experiment.Full, 1)
	require.NoError(t, err)
	_, err = Finish(dir, full, dice(t), &oneCode)
	require.NoError(t, err)
	assert.Equal(t, before, contents(t, dir), "no record of that scale yet")

	runDice(t, dir, experiment.Full, Options{Shard: Shard{0, 2}})
	_, err = Finish(dir, full, dice(t), &oneCode)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"plan.json": "{\"scale\":\"full\",\"seeds\":[1,2,3]}\n"},
		contents(t, dir))
}

func TestFailedJobsAreReported(t *testing.T) {
	dir := t.TempDir()
	x := *labtest.Dice
	x.Run = func(j *experiment.Job) error {
		if j.Params == 2 {
			panic("the die fell off the table")
		}
		return labtest.Dice.Run(j)
	}
	p := playOf(t, &x, dir, experiment.Small, Options{})
	state, err := Finish(dir, p, dice(t), &oneCode)
	require.NoError(t, err)
	assert.Equal(t, 1, state.Done)
	require.Len(t, state.Failed, 1)
	assert.Equal(t, "n=2", state.Failed[0].Task.Cell.Name)
	assert.Contains(t, state.Failed[0].Err, "the die fell off the table")
	assert.NotContains(t, contents(t, dir), "claims.json")
}

// TestInvalidExperimentIsNotJudged: each mistake is reported, and there is no claims.json
// that might be taken for valid.
func TestInvalidExperimentIsNotJudged(t *testing.T) {
	type results = experiment.Results
	for want, change := range map[string]func(*experiment.Experiment){
		"claim mean: not measured": func(x *experiment.Experiment) {
			x.Judge = func(r *results) { r.Claim("certain", 1) }
		},
		"claim mean: not judged: ": func(x *experiment.Experiment) {
			x.Judge = func(r *results) { r.Claim("certain", 1); r.Claim("mean", "small") }
		},
		`demo/dice has no claim "mode"`: func(x *experiment.Experiment) {
			x.Judge = func(r *results) { labtest.Dice.Judge(r); r.Claim("mode", 1) }
		},
		`no values "throw" in cell "n=1"`: func(x *experiment.Experiment) {
			x.Judge = func(r *results) { labtest.Dice.Judge(r); r.Cell("n=1").Values("throw") }
		},
		`no series "path"`: func(x *experiment.Experiment) {
			x.Figures = func(r *results) []figure.Figure { r.Series("path"); return nil }
		},
		"Judge: panic: by zero": func(x *experiment.Experiment) {
			x.Judge = func(r *results) { panic("by zero") }
		},
		"Figures: panic: by zero": func(x *experiment.Experiment) {
			x.Figures = func(r *results) []figure.Figure { panic("by zero") }
		},
		"figure: walk: nothing to show": func(x *experiment.Experiment) {
			x.Figures = func(r *results) []figure.Figure {
				return []figure.Figure{figure.Lines("walk", "", "", "")}
			}
		},
		"file name data.csv is taken": func(x *experiment.Experiment) {
			x.Figures = func(r *results) []figure.Figure {
				return []figure.Figure{&figure.Table{Name: "data", Header: []string{"n"}}}
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			dir := t.TempDir()
			x := *labtest.Dice
			change(&x)
			p := playOf(t, &x, dir, experiment.Small, Options{})
			_, err := Finish(dir, p, dice(t), &oneCode)
			assert.ErrorContains(t, err, "runner: demo/dice: ")
			assert.ErrorContains(t, err, want)
			assert.NotContains(t, contents(t, dir), "claims.json")
		})
	}
}

// TestANoteStandsForAValue: a claim that cannot be measured is in claims.json with its note.
func TestANoteStandsForAValue(t *testing.T) {
	dir := t.TempDir()
	x := *labtest.Dice
	x.Judge = func(r *experiment.Results) {
		for _, short := range []string{"mean", "certain", "spread"} {
			r.Note(short, "no dice here")
		}
	}
	p := playOf(t, &x, dir, experiment.Full, Options{})
	_, err := Finish(dir, p, dice(t), &oneCode)
	require.NoError(t, err)
	r, err := claims.ReadResult(filepath.Join(dir, "demo/dice/claims.json"))
	require.NoError(t, err)
	assert.Empty(t, claims.Check(dice(t), r))
	require.Len(t, r.Claims, 3)
	for _, v := range r.Claims {
		assert.Nil(t, v.Pass)
		assert.Equal(t, "no dice here", v.Note)
	}
}
