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

// Census counts the resources that opening a port takes and closing it must return.
type Census struct {
	Ports, Pools, Memzones  int
	Heap                    uint64 // bytes in use of EAL's heap
	Descriptors, Goroutines int
}

// Count returns the current Census. It runs inside eal.Call, so that no port opens or closes
// meanwhile.
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

// descriptors returns the number of open file descriptors, epoll's excepted: EAL's interrupt thread
// replaces its own whenever its sources change.
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

// Plus returns the sum of c and more: the largest allowed Census when more is known to leak.
func (c Census) Plus(more Census) Census {
	return Census{
		c.Ports + more.Ports, c.Pools + more.Pools, c.Memzones + more.Memzones, c.Heap + more.Heap,
		c.Descriptors + more.Descriptors, c.Goroutines + more.Goroutines,
	}
}

// patience is the time that goroutines and EAL's interrupt thread may take to clean up.
const patience = 2 * time.Second

// Unchanged fails the test if any count still exceeds before after patience.
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
