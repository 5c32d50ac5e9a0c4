package workload

import "math/rand/v2"

// newRand returns the random number generator of a Source.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// hostNumbers returns 0, 1, …, n-1.
func hostNumbers(n int) []int {
	hosts := make([]int, n)
	for i := range hosts {
		hosts[i] = i
	}
	return hosts
}

// pick moves k random hosts to the front.
func pick(rng *rand.Rand, hosts []int, k int) {
	for i := range k {
		j := i + rng.IntN(len(hosts)-i)
		hosts[i], hosts[j] = hosts[j], hosts[i]
	}
}
