package claims

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reworded are the claims whose metric has changed: it referred to a file outside the catalogue and
// describes the same in words now, or the claim's history gives the reason.
var reworded = []string{
	"tocc/fig3ab/jitter",
	"tocc/fig8cf/incast-ok",
	"tocc/fig13a/monotone",
	"beyond/tocc-offload/messages",
	"beyond/tocc-offload/naive-bad",
	"prioplus/fig10b/reference-curve",
	"prioplus/fig10c/reference-trace",
	"taurus/eq12/two-tier",
	"bytetuning/fluid-fixedpoint/table",
	"bytetuning/fig6/reference",
	"bytetuning/case1/cure",
	"bytetuning/table5/rdma-over-tcp",
	"bytetuning/fig13/marks",
	"bytetuning/table8/variance-objective",
}

// TestReference compares the catalogue with the notes from which it was made, where they are
// available: no claim is lost, none is easier to pass, none measures something else.
func TestReference(t *testing.T) {
	dir := os.Getenv("GOROCE_REFERENCE")
	if dir == "" {
		dir = "../../../shared/reference"
	}
	if _, err := os.Stat(filepath.Join(dir, "claims.yaml")); err != nil {
		t.Skip("the notes from which the catalogue was made are not here; GOROCE_REFERENCE names " +
			"their directory")
	}
	var original struct {
		Meta                any
		Common              map[string]string
		Experiments, Beyond []*Experiment
	}
	require.NoError(t, decodeFile(os.DirFS(dir), "claims.yaml", &original))
	want := append(original.Experiments, original.Beyond...)
	c := load(t)
	ours := slices.DeleteFunc(c.Experiments, func(e *Experiment) bool {
		return slices.Contains([]string{"fabric", "cc", "host"}, e.Paper())
	})
	require.Len(t, ours, len(want))
	for i, e := range ours {
		w := want[i]
		require.Equal(t, w.ID, e.ID)
		assert.Equal(t, w.Title, e.Title, e.ID)
		assert.Equal(t, w.Kind, e.Kind, e.ID)
		assert.Equal(t, w.Small, e.Small, e.ID)
		assert.Len(t, e.Needs, len(w.Needs), e.ID)
		require.Len(t, e.Claims, len(w.Claims), e.ID)
		for j, c := range e.Claims {
			o := w.Claims[j]
			require.Equal(t, o.ID, c.ID)
			assert.Equal(t, o.Confidence, c.Confidence, c.ID)
			assert.Equal(t, slices.Contains(reworded, c.ID), o.Metric != c.Metric, "%s: %s", c.ID,
				c.Metric)
			o.Expect.Why, c.Expect.Why = "", "" // a reason may be longer than it was
			assert.Equal(t, o.Expect, c.Expect, c.ID)
			assert.Equal(t, o.ExpectSmall, c.ExpectSmall, c.ID)
		}
	}
	for name := range original.Common {
		assert.NotEmpty(t, c.Common[name], name)
	}
}
