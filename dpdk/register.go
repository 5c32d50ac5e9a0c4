package dpdk

import "github.com/goroce/goroce/dpdk/eal"

// AnyCPU makes Register not pin the thread.
const AnyCPU = eal.AnyCPU

// Register prepares the calling goroutine for polling: it locks the goroutine to its OS thread,
// pins that to cpu unless cpu is AnyCPU, and registers it with EAL, which gives it a cache of its
// own in every pool. At least one port must be open. The returned function undoes all that, on the
// same goroutine.
func Register(cpu int) (unregister func(), err error) {
	t, err := eal.Register(cpu)
	if err != nil {
		return nil, err
	}
	return t.Unregister, nil
}
