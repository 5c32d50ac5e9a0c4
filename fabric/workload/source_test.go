package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// openLoop has every kind of traffic without Done, for 8 hosts and a millisecond.
func openLoop(seed uint64) map[string]interface{ Source() (Source, error) } {
	const hosts, rate, period = 8, 100 * units.Gbps, 50 * units.Microsecond
	until := units.Time(units.Millisecond)
	return map[string]interface{ Source() (Source, error) }{
		"poisson": Poisson{Hosts: hosts, Rate: rate, Load: 0.5, Sizes: Hadoop, Peers: OtherRacks(4),
			Until: until, Seed: seed},
		"incast": Incast{Hosts: hosts, Senders: 3, Receiver: RandomReceiver,
			Sizes:  Uniform[units.Bytes](45000, 60000),
			Period: period, Until: until, Seed: seed},
		"all to all": AllToAll{Hosts: hosts, Sizes: Memcached, Period: period, Until: until,
			Seed: seed},
		"all to many": AllToAll{Hosts: hosts, Targets: 2, Peers: SameRack(4), Sizes: Memcached,
			Period: period, Until: until, Seed: seed},
		"permutation": Permutation{Hosts: hosts, Sizes: WebSearch, Period: period, Until: until,
			Seed: seed},
		"coflows": Coflows{Hosts: hosts, Rate: rate, Load: 0.5, Sizes: Hadoop, Until: until,
			Seed: seed},
	}
}

// TestSameSeedSameFlows checks that equal seeds give equal flows, and different seeds different
// ones.
func TestSameSeedSameFlows(t *testing.T) {
	for name := range openLoop(0) {
		const many = 1 << 20
		a := flows(begin(t, openLoop(5)[name]), many)
		require.NotEmpty(t, a, name)
		assert.Equal(t, a, flows(begin(t, openLoop(5)[name]), many), name)
		assert.NotEqual(t, a, flows(begin(t, openLoop(6)[name]), many), name)
	}
}

// TestFlowsAreWellFormed checks that flows are in order of time and before the end, numbered from 0
// on, between two hosts, of at least a byte, and that their groups count from 0 or are -1.
func TestFlowsAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for name, traffic := range openLoop(rapid.Uint64().Draw(t, "seed")) {
			s, err := traffic.Source()
			require.NoError(t, err)
			last := Flow{Group: -1}
			for i := range uint64(2000) {
				f, ok := s.Next()
				if !ok {
					break
				}
				require.Equal(t, i, f.ID, name)
				require.False(t, f.At.Before(last.At), name)
				require.True(t, f.At.Before(units.Time(units.Millisecond)), name)
				require.NotEqual(t, f.Src, f.Dst, name)
				require.True(t, 0 <= min(f.Src, f.Dst) && max(f.Src, f.Dst) < 8, "%s: %+v", name, f)
				require.GreaterOrEqual(t, f.Bytes, units.Bytes(1), name)
				if name == "poisson" {
					require.Equal(t, -1, f.Group)
					require.NotEqual(t, f.Src/4, f.Dst/4)
				} else {
					require.True(t, f.Group == last.Group && f.At == last.At ||
						f.Group == last.Group+1, "%s: %+v", name, f)
				}
				if name == "all to many" {
					require.Equal(t, f.Src/4, f.Dst/4)
				}
				last = f
			}
			_, again := s.Next()
			if _, more := s.Next(); !again {
				require.False(t, more, "%s continues after its end", name)
			}
		}
	})
}

func TestStartClassAndCount(t *testing.T) {
	start := units.Time(units.Second)
	sizes := Fixed[units.Bytes](1000)
	for name, traffic := range map[string]interface{ Source() (Source, error) }{
		"poisson": Poisson{Hosts: 4, Rate: units.Gbps, Load: 1, Sizes: sizes, Start: start,
			Flows: 24, Class: 3},
		"incast": Incast{Hosts: 4, Sizes: sizes, Start: start, Period: 10, Rounds: 8,
			Class: 3},
		"all to all": AllToAll{Hosts: 4, Sizes: sizes, Start: start, Period: 10, Rounds: 2,
			Class: 3},
		"permutation": Permutation{Hosts: 4, Sizes: sizes, Start: start, Period: 10, Rounds: 6,
			Class: 3},
		"coflows": Coflows{Hosts: 4, Rate: units.Gbps, Load: 1, Sizes: sizes, Start: start,
			Coflows: 6, Class: 3,
			Mappers: Fixed(2), Reducers: Fixed(2)},
	} {
		all := flows(begin(t, traffic), 1000)
		assert.Len(t, all, 24, name)
		for _, f := range all {
			assert.False(t, f.At.Before(start), name)
			assert.Equal(t, 3, f.Class, name)
		}
	}
}

func TestImpossibleTraffic(t *testing.T) {
	sizes := Fixed[units.Bytes](1000)
	for _, c := range []struct {
		traffic interface{ Source() (Source, error) }
		want    string
	}{
		{Poisson{Hosts: 1, Rate: 1, Load: 1, Sizes: sizes},
			"workload: Poisson: 1 hosts, want at least 2"},
		{Poisson{Hosts: 2, Rate: 0, Load: 1, Sizes: sizes}, "rate"},
		{Poisson{Hosts: 2, Rate: 1, Load: 0, Sizes: sizes}, "load 0: want"},
		{Poisson{Hosts: 2, Rate: 1, Load: ExpressPassLoad(1, 0), Sizes: sizes}, "load +Inf: want"},
		{Poisson{Hosts: 2, Rate: 1, Load: 1}, "no sizes"},
		{Poisson{Hosts: 2, Rate: 1, Load: 1, Sizes: Fixed[units.Bytes](0)}, "sizes below 1 byte"},
		{Poisson{Hosts: 5, Rate: 1, Load: 1, Sizes: sizes, Peers: SameRack(4)},
			"host 4 of 5 has no peer"},
		{Poisson{Hosts: 2, Rate: 1, Load: 1, Sizes: sizes, Peers: OtherRacks(0), Flows: 1}, ""},
		{Incast{Hosts: 1, Sizes: sizes}, "workload: incast: 1 hosts"},
		{Incast{Hosts: 4, Sizes: sizes, Receiver: 4}, "receiver 4 out of range [0, 4)"},
		{Incast{Hosts: 4, Sizes: sizes, Receiver: -2}, "receiver -2"},
		{Incast{Hosts: 4, Sizes: sizes, Senders: 4}, "4 senders out of range [0, 4)"},
		{Incast{Hosts: 4}, "no sizes"},
		{AllToAll{Hosts: 0, Sizes: sizes}, "workload: all to all: 0 hosts"},
		{AllToAll{Hosts: 8, Sizes: sizes, Peers: SameRack(4), Targets: 4},
			"4 targets of host 0 out of range [0, 3]"},
		{AllToAll{Hosts: 8, Sizes: sizes, Targets: -1}, "-1 targets"},
		{AllToAll{Hosts: 8}, "no sizes"},
		{Permutation{Hosts: 1, Sizes: sizes}, "workload: permutation: 1 hosts"},
		{Permutation{Hosts: 2}, "no sizes"},
		{Coflows{Hosts: 1, Rate: 1, Load: 1, Sizes: sizes}, "workload: coflows: 1 hosts"},
		{Coflows{Hosts: 2, Rate: 1, Load: -1, Sizes: sizes}, "load -1"},
		{Coflows{Hosts: 2, Rate: 1, Load: 1}, "no sizes"},
		{Coflows{Hosts: 2, Rate: 1, Load: 1, Sizes: sizes, Mappers: Fixed(0)},
			"fewer than one mapper"},
	} {
		_, err := c.traffic.Source()
		if c.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, c.want)
	}
	for _, c := range []struct {
		ring RingAllReduce
		want string
	}{
		{RingAllReduce{Hosts: []int{1}, Bytes: 100}, "workload: ring all-reduce: 1 hosts"},
		{RingAllReduce{Hosts: []int{1, 2, 3}, Bytes: 2}, "2 B for 3 hosts"},
		{RingAllReduce{Hosts: []int{1, 2, 1}, Bytes: 100}, "duplicate host 1"},
	} {
		_, err := c.ring.Source()
		assert.ErrorContains(t, err, c.want)
	}
}
