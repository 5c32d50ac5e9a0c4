package fabriclab

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
)

// long are experiments that fill a link for milliseconds, which takes the race detector minutes.
var long = []string{"fabric/md1", "fabric/mm1", "fabric/linerate", "fabric/dwrr",
	"fabric/token-limiter"}

func TestExperimentsAtSmallScale(t *testing.T) {
	labtest.Small(t, slices.DeleteFunc(slices.Clone(Experiments),
		func(e *experiment.Experiment) bool {
			return race.Short() && slices.Contains(long, e.ID)
		}))
}

func TestAllOfTheCatalogue(t *testing.T) {
	catalogue, err := claims.Load()
	require.NoError(t, err)
	listed, err := catalogue.Match("fabric/*")
	require.NoError(t, err)
	require.Len(t, Experiments, len(listed))
	for i, e := range Experiments {
		require.Equal(t, listed[i].ID, e.ID)
	}
}
