package eal

/*
#include <rte_malloc.h>
*/
import "C"

// HeapInUse returns the allocated bytes of EAL's heaps: of EAL, of drivers, and of pools in EAL's
// memory.
func HeapInUse() uint64 {
	var bytes uint64
	for socket := range C.RTE_MAX_NUMA_NODES {
		var stats C.struct_rte_malloc_socket_stats
		if C.rte_malloc_get_socket_stats(C.int(socket), &stats) == 0 {
			bytes += uint64(stats.heap_allocsz_bytes)
		}
	}
	return bytes
}
