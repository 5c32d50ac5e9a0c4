package dpdk

import "github.com/goroce/goroce/dpdk/eal"

// AnyCPU asks Register for no pinning.
const AnyCPU = eal.AnyCPU

// Register prepares the calling goroutine for polling: it is locked to its OS thread, which is
// pinned to cpu unless that is AnyCPU and made known to EAL, so that it gets a cache of its own in
// every pool. Some port must be open. The answer undoes it, on the same goroutine.
func Register(cpu int) (unregister func(), err error) {
	t, err := eal.Register(cpu)
	if err != nil {
		return nil, err
	}
	return t.Unregister, nil
}
