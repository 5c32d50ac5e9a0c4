package workload

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// TestMeans compares means with those of the original tables under their own rule. Copied tables
// agree except for the dropped fractions, half a byte; reduced ones are within 1 %.
func TestMeans(t *testing.T) {
	means := map[string]struct{ mean, within float64 }{
		"alistorage":          {40_869.8, 1},
		"cachefollower":       {692_975.6, 6929},
		"cachefollower-xpass": {712_573, 1},
		"datamining":          {7_487_884, 1},
		"googlerpc":           {2_891.6, 28.9},
		"googlesearch":        {440.8, 4.4},
		"hadoop":              {120_420.8, 1},
		"hadoop-w4":           {127_796.6, 1277},
		"memcached":           {187.5, 1.87},
		"webserver":           {62_874.3, 628},
		"webserver-xpass":     {66_121, 1},
		"websearch":           {1_711_250, 1},
		"websearch-xpass":     {1_710_004, 1},
	}
	require.Len(t, means, len(Names()))
	for _, name := range Names() {
		d, err := ByName(name)
		require.NoError(t, err)
		assert.InDelta(t, means[name].mean, d.Mean(), means[name].within, name)
	}
}

// TestShapes checks the published descriptions of the workloads.
func TestShapes(t *testing.T) {
	assert.Greater(t, Memcached.CDF(1499), 0.9, "more than 90 %% fit into one packet (ToCC, III-B)")
	assert.InDelta(t, 0.47, Memcached.CDF(15), 0.01, "P(15 B) of the memcached generator")
	assert.Less(t, WebSearch.CDF(100_000), 0.6)
	assert.Greater(t, WebServer.CDF(1_000_000), 0.99)
	assert.InDelta(t, 0.5, CacheFollower.CDF(28_270), 0.01)
	assert.InDelta(t, 0.99, HadoopW4.CDF(3_430_822), 0.002)
	assert.InDelta(t, 0.9012, GoogleRPC.CDF(1755), 0.002)
	assert.InDelta(t, 0.9104, GoogleSearch.CDF(512), 0.005)
}

func TestTablesAreTables(t *testing.T) {
	for _, n := range named {
		assert.True(t, slices.IsSorted(n.sizes.value), n.name)
		assert.True(t, slices.IsSorted(n.sizes.cum), n.name)
		assert.Equal(t, 1.0, n.sizes.cum[len(n.sizes.cum)-1], n.name)
		assert.GreaterOrEqual(t, n.sizes.Quantile(0), units.Bytes(1), n.name)
	}
}

func TestByName(t *testing.T) {
	d, err := ByName("websearch")
	require.NoError(t, err)
	assert.Same(t, WebSearch, d)
	_, err = ByName("WebSerach")
	require.ErrorContains(t, err, `"WebSerach"`)
	assert.ErrorContains(t, err, "alistorage, cachefollower, ")
	assert.True(t, slices.IsSorted(Names()))
}
