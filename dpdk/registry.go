package dpdk

import "github.com/goroce/goroce/dpdk/mempool"

// What the devices of the process share. Touched on EAL's main thread only.
var (
	// serials make names unique, per kind.
	serials = map[string]int{}

	// retired are the pools of closed devices some of whose buffers are still in other hands: in
	// the ring of a loop's other end, or the application's.
	retired []*mempool.Mempool

	// memifServers counts, per socket path, the ports of this process that listen there.
	memifServers = map[string]int{}

	// memifClients counts, per socket as the driver knows it, the ports of this process that
	// connect to it.
	memifClients = map[string]int{}
)

func nextSerial(kind string) int {
	n := serials[kind]
	serials[kind]++
	return n
}

// retire frees pool as soon as all its buffers are home.
func retire(pool *mempool.Mempool) {
	retired = append(retired, pool)
	reap()
}

// reap frees the retired pools that are complete.
func reap() {
	kept := retired[:0]
	for _, pool := range retired {
		if pool.AvailCount() == pool.Size() {
			pool.Free()
		} else {
			kept = append(kept, pool)
		}
	}
	retired = kept
}
