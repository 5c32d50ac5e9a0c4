package dpdk

import "github.com/goroce/goroce/dpdk/mempool"

// State that the devices of the process share. Accessed on EAL's main thread only.
var (
	// serials make names unique, per kind.
	serials = map[string]int{}

	// retired are pools of closed devices with buffers still in use: in the ring of a loop's other
	// end, or by the application.
	retired []*mempool.Mempool

	// memifServers counts the ports of this process that listen on a socket, by path.
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

// retire frees pool as soon as all its buffers have been freed.
func retire(pool *mempool.Mempool) {
	retired = append(retired, pool)
	reap()
}

// reap frees the retired pools whose buffers have all been freed.
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
