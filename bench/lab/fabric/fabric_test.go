package fabriclab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
)

// long are experiments that fill a link for milliseconds.
var long = map[string]bool{"fabric/md1": true, "fabric/mm1": true, "fabric/linerate": true, "fabric/dwrr": true, "fabric/token-limiter": true}

// Every experiment of the catalogue's fabric part is here, and says at small scale, in seconds, all
// that it shall.
func TestAllExperimentsAtSmallScale(t *testing.T) {
	catalogue, err := claims.Load()
	require.NoError(t, err)
	listed, err := catalogue.Match("fabric/*")
	require.NoError(t, err)
	require.Len(t, Experiments, len(listed))
	for i, e := range Experiments {
		t.Run(e.ID, func(t *testing.T) {
			require.Equal(t, listed[i].ID, e.ID)
			if testing.Short() && long[e.ID] {
				t.Skip("one goroutine and millions of frames: the race detector takes minutes and has nothing to find")
			}
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
			verdicts, err := claims.Judge(listed[i], claims.SmallScale, values, notes)
			require.NoError(t, err)
			for _, v := range verdicts {
				require.NotNil(t, v.Pass, "%s: %s", v.ID, v.Note)
				assert.True(t, *v.Pass || v.Note != "", "%s: %v fails and nobody says why", v.ID, v.Value)
			}
		})
	}
}
