package labtest

import (
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
)

// OneGoroutine leaves a test out where the race detector runs, which is with -short.
func OneGoroutine(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine: the race detector takes minutes and has nothing to find")
	}
}

// Small runs experiments at small scale: the catalogue has them, they say all that they shall, and
// what fails is explained.
func Small(t *testing.T, experiments []*experiment.Experiment) {
	catalogue, err := claims.Load()
	require.NoError(t, err)
	for _, e := range experiments {
		t.Run(e.ID, func(t *testing.T) {
			listed := catalogue.Find(e.ID)
			require.NotNil(t, listed)
			cells, err := e.CellsAt(experiment.Small)
			require.NoError(t, err)
			var jobs []experiment.Done
			for _, c := range cells {
				j := experiment.NewJob(t.Context(), c, experiment.Small, 1, nil)
				require.NoError(t, e.Run(j), c.Name)
				jobs = append(jobs, experiment.Done{Cell: c, Seed: 1, Record: j.Record()})
			}
			r := experiment.NewResults(experiment.Small, jobs)
			e.Judge(r)
			if e.Figures != nil {
				assert.NotEmpty(t, e.Figures(r))
			}
			values, notes, err := r.Verdicts()
			require.NoError(t, err)
			verdicts, err := claims.Judge(listed, claims.SmallScale, values, notes)
			require.NoError(t, err)
			for _, v := range verdicts {
				if !listed.JudgedSmall(path.Base(v.ID)) {
					continue
				}
				require.NotNil(t, v.Pass, "%s: %s", v.ID, v.Note)
				assert.True(t, *v.Pass || v.Note != "", "%s: %v fails and nobody says why", v.ID,
					v.Value)
			}
		})
	}
}
