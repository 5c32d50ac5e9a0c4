package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func TestIncastByHand(t *testing.T) {
	s := begin(t, Incast{Hosts: 4, Receiver: 2, Sizes: Fixed[units.Bytes](500_000), Start: 100,
		Period: 1000, Rounds: 3})
	all := flows(s, 100)
	require.Len(t, all, 9)
	for i, f := range all {
		round := i / 3
		assert.Equal(t, units.Time(100+1000*round), f.At)
		assert.Equal(t, round, f.Group)
		assert.Equal(t, 2, f.Dst)
		assert.Equal(t, units.Bytes(500_000), f.Bytes)
	}
	for round := range 3 {
		assert.ElementsMatch(t, []int{0, 1, 3}, sources(all[3*round:3*round+3]))
	}
	assert.Len(t, flows(begin(t, Incast{Hosts: 4, Sizes: Hadoop, Rounds: 3}), 100), 3,
		"no period, a single round")
	assert.Len(t, flows(begin(t, Incast{Hosts: 4, Sizes: Hadoop, Period: 1, Until: 5}), 100), 15)
	assert.Len(t, flows(begin(t, Incast{Hosts: 4, Sizes: Hadoop, Period: 1}), 100), 100, "no end")
}

// TestIncastSenders: all different, each host equally often, and so the receiver if it is random.
func TestIncastSenders(t *testing.T) {
	const hosts, senders, rounds = 10, 4, 20_000
	for _, receiver := range []int{0, 9, RandomReceiver} {
		s := begin(t, Incast{Hosts: hosts, Senders: senders, Receiver: receiver, Sizes: Hadoop,
			Period: 1, Rounds: rounds, Seed: 4})
		var sent, received [hosts]float64
		all := flows(s, 1<<30)
		require.Len(t, all, senders*rounds)
		for i := 0; i < len(all); i += senders {
			seen := make(map[int]bool)
			for _, f := range all[i : i+senders] {
				require.Equal(t, all[i].Dst, f.Dst)
				require.False(t, seen[f.Src])
				seen[f.Src] = true
				sent[f.Src]++
			}
			received[all[i].Dst]++
		}
		for h := range hosts {
			if receiver == RandomReceiver {
				assert.InEpsilon(t, rounds/hosts, received[h], 0.1)
				assert.InEpsilon(t, rounds*senders/hosts, sent[h], 0.1)
			} else if h != receiver {
				assert.InEpsilon(t, rounds*senders/(hosts-1), sent[h], 0.1)
			}
		}
	}
}

// TestIncastPeriod: 60 senders of 500 kB on 2 % of the links of 100 hosts.
func TestIncastPeriod(t *testing.T) {
	size := Fixed[units.Bytes](500_000)
	assert.Equal(t, 1200*units.Microsecond, IncastPeriod(60, size, 0.02, 100*100*units.Gbps))
	assert.Equal(t, units.Forever, IncastPeriod(60, size, 0, units.Gbps))
	assert.Equal(t, units.Forever, IncastPeriod(60, size, 0.1, 0))
}

func sources(flows []Flow) []int {
	var hosts []int
	for _, f := range flows {
		hosts = append(hosts, f.Src)
	}
	return hosts
}
