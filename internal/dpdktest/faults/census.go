package faults

/*
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

static void count_zone(const struct rte_memzone *zone, void *n) { (void)zone; ++*(unsigned *)n; }
static void count_pool(struct rte_mempool *pool, void *n) { (void)pool; ++*(unsigned *)n; }

static unsigned zones(void)
{
	unsigned n = 0;
	rte_memzone_walk(count_zone, &n);
	return n;
}

static unsigned pools(void)
{
	unsigned n = 0;
	rte_mempool_walk(count_pool, &n);
	return n;
}
*/
import "C"

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/goroce/goroce/dpdk/eal"
)

// Census is what a process has that a port takes and must give back.
type Census struct {
	Ports, Pools, Memzones  int
	Heap                    uint64 // bytes of EAL's
	Descriptors, Goroutines int
}

// Count counts, inside eal.Call so that no port opens or closes meanwhile.
func Count(tb testing.TB) Census {
	tb.Helper()
	var c Census
	err := eal.Call("count", func() error {
		c = Census{
			Ports:       int(C.rte_eth_dev_count_avail()),
			Pools:       int(C.pools()),
			Memzones:    int(C.zones()),
			Heap:        eal.HeapInUse(),
			Descriptors: descriptors(),
			Goroutines:  runtime.NumGoroutine(),
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// descriptors counts those that are open, but for epoll's: EAL's interrupt thread closes its one
// and opens another, in any order, whenever its sources change.
func descriptors() int {
	n := 0
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		what, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && what != "anon_inode:[eventpoll]" {
			n++
		}
	}
	return n
}

// Plus returns what may be there when all of more is lost.
func (c Census) Plus(more Census) Census {
	return Census{
		c.Ports + more.Ports, c.Pools + more.Pools, c.Memzones + more.Memzones, c.Heap + more.Heap,
		c.Descriptors + more.Descriptors, c.Goroutines + more.Goroutines,
	}
}

// patience is how long goroutines and EAL's interrupt thread may take to clean up.
const patience = 2 * time.Second

// Unchanged fails the test when the process has more than before, and keeps having it.
func Unchanged(tb testing.TB, before Census, what string) {
	tb.Helper()
	var now Census
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Millisecond) {
		if now = Count(tb); now.within(before) {
			return
		}
	}
	tb.Errorf("%s: grown from %+v to %+v", what, before, now)
}

func (c Census) within(before Census) bool {
	return c.Ports <= before.Ports && c.Pools <= before.Pools && c.Memzones <= before.Memzones &&
		c.Heap <= before.Heap && c.Descriptors <= before.Descriptors &&
		c.Goroutines <= before.Goroutines
}
