package labtest

import (
	"embed"
	"math"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

//go:embed common.yaml catalogue.yaml verdicts.yaml
var files embed.FS

// Catalogue returns the catalogue of the paper demo: demo/dice and demo/coins, with verdicts at
// both scales that agree with Dice, and "holds" for heads.
func Catalogue(t testing.TB) *claims.Catalogue {
	t.Helper()
	dir := fstest.MapFS{}
	for name, file := range map[string]string{"common.yaml": "common.yaml",
		"demo.yaml": "catalogue.yaml"} {
		text, err := files.ReadFile(file)
		require.NoError(t, err)
		dir[name] = &fstest.MapFile{Data: text}
	}
	c, err := claims.Parse(dir)
	require.NoError(t, err)
	require.NoError(t, c.ReadVerdicts(Verdicts(t)))
	c.Find("demo/dice").Behaviour = "41e4c683b6d4"
	return c
}

// Verdicts returns the files of the verdicts on demo.
func Verdicts(t testing.TB) fstest.MapFS {
	t.Helper()
	text, err := files.ReadFile("verdicts.yaml")
	require.NoError(t, err)
	return fstest.MapFS{"demo.yaml": {Data: text}}
}

// Dice is the code of demo/dice. Its claim mean holds and certain fails; spread is judged at full
// scale only, and holds there. demo/coins has no code.
var Dice = &experiment.Experiment{
	ID: "demo/dice",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return experiment.Sweep("n=%d", experiment.At(s, []int{1, 2, 3}, []int{1, 2})...)
	},
	Run: func(j *experiment.Job) error {
		throws := experiment.At(j.Scale, 500, 100)
		random := rand.New(rand.NewPCG(j.Seed, 0))
		walk := j.Series("walk")
		total := 0.0
		for i := range throws {
			sum := 0.0
			for range j.Params.(int) {
				sum += float64(1 + random.IntN(6))
			}
			j.Value("sum", sum)
			total += sum
			walk.Add(float64(i), total)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		worst := 0.0
		var spread []float64
		for _, c := range r.Cells() {
			sums := c.Values("sum")
			worst = max(worst, math.Abs(sums.Mean()/(3.5*float64(c.Params.(int)))-1))
			spread = append(spread, sums.Max()-sums.Min())
		}
		r.Claim("mean", worst)
		r.Claim("certain", r.Cell("n=1").Values("sum").Min())
		r.Note("certain", "our die is <fair>")
		r.Claim("spread", spread)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		walk := figure.Lines("walk", "Running total of <sums>", "throw", "total")
		table := &figure.Table{Name: "means", Title: "Mean <sums>",
			Header: []string{"n", "mean, of all"}}
		for _, c := range r.Cells() {
			w := c.Seeds()[0].Series("walk")
			walk.Add(c.Name, w.X, w.Y)
			table.Row(c.Params, c.Values("sum").Mean())
		}
		return []figure.Figure{walk, table}
	},
}
