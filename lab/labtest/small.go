package labtest

import (
	"path"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/exchange"
	"github.com/goroce/goroce/lab/experiment"
)

// Small runs experiments at small scale. It requires that the catalogue has them, that every claim
// judged at that scale has a value, that the verdicts are the committed ones, and that the claims
// discriminate or that the catalogue says why they do not. What they compute must have the
// committed digest.
func Small(t *testing.T, experiments []*experiment.Experiment) {
	catalogue, err := claims.Load()
	require.NoError(t, err)
	for _, x := range experiments {
		t.Run(x.ID, func(t *testing.T) {
			e := catalogue.Find(x.ID)
			require.NotNil(t, e)
			jobs := simulate(t, x)
			r := experiment.NewResults(experiment.Small, jobs)
			x.Judge(r)
			if x.Figures != nil {
				assert.NotEmpty(t, x.Figures(r))
			}
			values, notes, err := r.Verdicts()
			require.NoError(t, err)
			verdicts, err := claims.Judge(e, claims.SmallScale, values, notes)
			require.NoError(t, err)
			for _, v := range verdicts {
				if e.JudgedSmall(path.Base(v.ID)) {
					assert.NotNil(t, v.Pass, "%s: %s", v.ID, v.Note)
				}
			}
			exchange.Test(x, e, claims.SmallScale, jobs, verdicts)
			digest, err := experiment.Digest(jobs)
			require.NoError(t, err)
			result := &claims.Result{Scale: claims.SmallScale, Seeds: []uint64{1},
				Behaviour: digest, Claims: verdicts}
			if p := claims.BehavesDifferently(e, result); p != "" && runtime.GOARCH == "amd64" {
				t.Error(p) // other processors round products and sums together
			}
			for _, p := range claims.Compare(e, result) {
				t.Error(p)
			}
		})
	}
}

// simulate runs the cells of an experiment at small scale.
func simulate(t *testing.T, x *experiment.Experiment) []experiment.Done {
	cells, err := x.CellsAt(experiment.Small)
	require.NoError(t, err)
	var jobs []experiment.Done
	for _, c := range cells {
		for seed := range uint64(x.SeedsAt(experiment.Small)) {
			j := experiment.NewJob(t.Context(), c, experiment.Small, seed+1, nil)
			require.NoError(t, x.Run(j), c.Name)
			jobs = append(jobs, experiment.Done{Cell: c, Seed: seed + 1, Record: j.Record()})
		}
	}
	return jobs
}
