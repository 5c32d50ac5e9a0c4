package claims

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBehaviourFile(t *testing.T) {
	c, err := Load()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "behaviour.yaml")
	require.NoError(t, c.ReadBehaviour(path), "no file")
	require.NoError(t, c.WriteBehaviour(path))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(behaviourFile), string(written), "the committed file, as it is written")

	require.NoError(t, c.readBehaviour([]byte("cc/rtt: 0123456789ab")))
	assert.Equal(t, "0123456789ab", c.Find("cc/rtt").Behaviour)
	assert.Empty(t, c.Find("cc/incast").Behaviour)
	assert.ErrorContains(t, c.readBehaviour([]byte("cc/none: 0123456789ab")),
		"the catalogue has no experiment cc/none")
	assert.ErrorContains(t, c.readBehaviour([]byte("[")), "behaviour")
}

// TestStale: the reasons, by result.
func TestStale(t *testing.T) {
	e := &Experiment{ID: "demo/dice", Behaviour: "b"}
	for _, c := range []struct {
		want   string
		result Result
	}{
		{"", Result{Scale: FullScale, Setup: "s", Behaviour: "b"}},
		{"", Result{Scale: SmallScale, Setup: "other"}},
		{"made before", Result{Scale: FullScale}},
		{"the set-up has changed", Result{Scale: FullScale, Setup: "other", Behaviour: "b"}},
		{"something else", Result{Scale: FullScale, Setup: "s", Behaviour: "other"}},
	} {
		why := Stale(e, &c.result, "s")
		assert.Equal(t, c.want == "", why == "")
		assert.Contains(t, why, c.want)
	}
}

// TestBehavesDifferently: only results at small scale with seed 1 count, and not those of machines.
func TestBehavesDifferently(t *testing.T) {
	machine := []Claim{{verdicts: &verdictEntry{Small: &ExpectedVerdict{Machine: true}}}}
	for _, c := range []struct {
		name   string
		differ bool
		claims []Claim
		result Result
	}{
		{"the same", false, nil, Result{Scale: SmallScale, Seeds: []uint64{1}, Behaviour: "b"}},
		{"another", true, nil, Result{Scale: SmallScale, Seeds: []uint64{1}, Behaviour: "x"}},
		{"no digest", false, nil, Result{Scale: SmallScale, Seeds: []uint64{1}}},
		{"other seeds", false, nil, Result{Scale: SmallScale, Seeds: []uint64{7}, Behaviour: "x"}},
		{"full", false, nil, Result{Scale: FullScale, Seeds: []uint64{1}, Behaviour: "x"}},
		{"machine", false, machine,
			Result{Scale: SmallScale, Seeds: []uint64{1}, Behaviour: "x"}},
	} {
		e := &Experiment{ID: "demo/dice", Behaviour: "b", Claims: c.claims}
		assert.Equal(t, c.differ, BehavesDifferently(e, &c.result) != "", c.name)
		assert.Equal(t, c.differ, UpdateBehaviour(e, &c.result) != "", c.name)
		assert.Empty(t, BehavesDifferently(e, &c.result), "%s: after the update", c.name)
	}
}
