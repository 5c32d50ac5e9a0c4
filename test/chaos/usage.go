package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/goroce/goroce/dpdk/eal"
)

// usage is the amount of resources that a process holds; campaigns must not increase it.
type usage struct {
	descriptors, goroutines int
	resident, heap          uint64 // bytes: in RAM, and allocated by EAL
}

// Tolerated growth between two times at which nothing is open. EAL opens an epoll descriptor
// whenever the set of its event sources changes, before or after closing the previous one; Go and C
// retain some freed memory.
const (
	descriptorsSlack = 2
	residentSlack    = 32 << 20
	heapSlack        = 64 << 10
)

// settleSamples is the number of times that measure samples goroutines that are about to end.
const settleSamples = 200

// measure returns the usage of this process after ending goroutines have ended.
func measure() usage {
	least := runtime.NumGoroutine()
	for range settleSamples {
		time.Sleep(time.Millisecond)
		least = min(least, runtime.NumGoroutine())
	}
	debug.FreeOSMemory()
	u := usage{goroutines: least, heap: eal.HeapInUse()}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.descriptors = len(entries)
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		var total, resident uint64
		fmt.Fscan(bytes.NewReader(text), &total, &resident)
		u.resident = resident * uint64(os.Getpagesize())
	}
	return u
}

// checkGrowth returns an error if later exceeds u by more than the tolerated growth.
func (u usage) checkGrowth(later usage) error {
	if later.descriptors > u.descriptors+descriptorsSlack ||
		later.goroutines > u.goroutines ||
		later.resident > u.resident+residentSlack ||
		later.heap > u.heap+heapSlack {
		return fmt.Errorf("usage grew from %v to %v", u, later)
	}
	return nil
}

func (u usage) String() string {
	return fmt.Sprintf("%d descriptors, %d goroutines, %d MiB resident, %d KiB of EAL's heap",
		u.descriptors, u.goroutines, u.resident>>20, u.heap>>10)
}
