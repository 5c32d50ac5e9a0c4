package workload

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// TestCoflowsAreShuffles checks that every mapper sends to every reducer, and that no host is both.
func TestCoflowsAreShuffles(t *testing.T) {
	all := flows(begin(t, Coflows{Hosts: 320, Rate: 100 * units.Gbps, Load: 0.7, Sizes: Hadoop,
		Coflows: 500, Seed: 1}), 1<<30)
	groups := make(map[int][]Flow)
	for _, f := range all {
		groups[f.Group] = append(groups[f.Group], f)
	}
	require.Len(t, groups, 500)
	single := 0
	for _, g := range groups {
		mappers, reducers, pairs := make(map[int]bool), make(map[int]bool), make(map[pair]bool)
		for _, f := range g {
			require.Equal(t, g[0].At, f.At)
			mappers[f.Src], reducers[f.Dst], pairs[pair{f.Src, f.Dst}] = true, true, true
		}
		require.Len(t, g, len(mappers)*len(reducers))
		require.Len(t, pairs, len(g))
		for h := range mappers {
			require.False(t, reducers[h])
		}
		if len(mappers) == 1 {
			single++
		}
	}
	assert.InDelta(t, 0.2928*500, single, 40)
}

// TestCoflowLoad checks the offered load, also with fewer hosts than the largest coflows have.
func TestCoflowLoad(t *testing.T) {
	for _, hosts := range []int{2, 40, 320} {
		const rate, load, coflows = 100 * units.Gbps, 0.6, 4000
		s := begin(t, Coflows{Hosts: hosts, Rate: rate, Load: load,
			Sizes: Fixed[units.Bytes](10_000), Coflows: coflows, Seed: 5})
		var sum units.Bytes
		var last units.Time
		for f, ok := s.Next(); ok; f, ok = s.Next() {
			sum += f.Bytes
			last = f.At
		}
		offered := float64(sum.Bits()) / units.Duration(last).Seconds() /
			(float64(rate) * float64(hosts))
		assert.InEpsilon(t, load, offered, 0.15, "%d hosts: 4000 coflows of very different sizes",
			hosts)
	}
}

// TestFileRequests tests coflows with one reducer.
func TestFileRequests(t *testing.T) {
	s := begin(t, Coflows{Hosts: 64, Rate: units.Gbps, Load: 0.3, Sizes: Hadoop, Mappers: Fixed(20),
		Reducers: Fixed(1), Coflows: 3})
	all := flows(s, 1000)
	require.Len(t, all, 60)
	for i, f := range all {
		assert.Equal(t, i/20, f.Group)
		assert.Equal(t, all[i/20*20].Dst, f.Dst)
	}
}

func TestMeanAtMost(t *testing.T) {
	dice := Uniform(1, 7)
	assert.InDelta(t, 3.5, meanAtMost(dice, 6), 1e-12)
	assert.InDelta(t, 3.5, meanAtMost(dice, 100), 1e-12)
	assert.InDelta(t, (1+2*5)/6., meanAtMost(dice, 2), 1e-12)
	assert.InDelta(t, 1, meanAtMost(dice, 1), 1e-12)
	assert.InDelta(t, FacebookMappers.Mean(), meanAtMost(FacebookMappers, 160), 1e-9)
}

// TestWholeCoflows checks sizes of whole coflows and the load: every flow has a part of a sample,
// and those of the smallest coflows have at least 1 KB on average.
func TestWholeCoflows(t *testing.T) {
	const rate, load, coflows, hosts = 100 * units.Gbps, 0.025, 300, 320
	for class, sizes := range FacebookCoflows {
		all := flows(begin(t, Coflows{Hosts: hosts, Rate: rate, Load: load, Sizes: sizes,
			Total: true, Coflows: coflows, Seed: 7}), 1<<30)
		count := make([]units.Bytes, coflows)
		var sum units.Bytes
		for _, f := range all {
			count[f.Group]++
			sum += f.Bytes
		}
		for _, f := range all {
			if f.Bytes < 1 || f.Bytes > sizes.Quantile(1)/count[f.Group] {
				t.Fatalf("class %d: %d B, one of %d flows", class, f.Bytes, count[f.Group])
			}
		}
		assert.LessOrEqual(t, slices.Max(count)*leastOfCoflow, sizes.Quantile(1))
		assert.InEpsilon(t, sizes.Mean()*coflows, float64(sum), 0.1, "class %d", class)
		took := units.Duration(all[len(all)-1].At).Seconds()
		assert.InEpsilon(t, load, float64(sum.Bits())/took/(float64(rate)*hosts), 0.2)
	}
}

// TestWholeCoflowsOfWrongSize: no numbers of mappers and reducers give flows of 1 KB to 100 MB.
func TestWholeCoflowsOfWrongSize(t *testing.T) {
	for _, size := range []units.Bytes{999, 1 << 40} {
		_, err := Coflows{Hosts: 64, Rate: units.Gbps, Load: 0.3, Sizes: Fixed(size),
			Total: true}.Source()
		assert.ErrorContains(t, err, "want some above")
	}
}

// TestOver divides a table: eight classes, each an eighth.
func TestOver(t *testing.T) {
	for _, sizes := range FacebookCoflows {
		assert.InEpsilon(t, sizes.Mean()/8, sizes.Over(8).Mean(), 1e-3)
		assert.Equal(t, sizes.Quantile(1)/8, sizes.Over(8).Quantile(1))
	}
}
