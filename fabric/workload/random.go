package workload

import "math/rand/v2"

// newRand is one traffic's source of randomness.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// hostNumbers answers 0, 1 .. n-1.
func hostNumbers(n int) []int {
	hosts := make([]int, n)
	for i := range hosts {
		hosts[i] = i
	}
	return hosts
}

// pick brings k of the hosts, drawn at random, to the front.
func pick(rng *rand.Rand, hosts []int, k int) {
	for i := range k {
		j := i + rng.IntN(len(hosts)-i)
		hosts[i], hosts[j] = hosts[j], hosts[i]
	}
}
