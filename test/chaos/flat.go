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

// usage is what a process has that a campaign must not make it lose.
type usage struct {
	descriptors, goroutines int
	resident, heap          uint64 // bytes: in RAM, and allocated by EAL
}

// By how much usage may differ between two moments at which nothing is open. EAL opens an epoll
// descriptor whenever the set of its sources changes, before or after it closed the last one; Go
// and C keep some of the memory that they freed.
const (
	descriptorsSlack = 2
	residentSlack    = 32 << 20
	heapSlack        = 64 << 10
)

// settle is how often measure looks for goroutines that are about to end.
const settle = 200

// measure returns the usage of this process, once goroutines that are ending have ended.
func measure() usage {
	least := runtime.NumGoroutine()
	for range settle {
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

// grown says what is more in later than slack explains.
func (u usage) grown(later usage) error {
	if later.descriptors > u.descriptors+descriptorsSlack ||
		later.goroutines > u.goroutines ||
		later.resident > u.resident+residentSlack ||
		later.heap > u.heap+heapSlack {
		return fmt.Errorf("grown from %v to %v", u, later)
	}
	return nil
}

func (u usage) String() string {
	return fmt.Sprintf("%d descriptors, %d goroutines, %d MiB resident, %d KiB of EAL's heap",
		u.descriptors, u.goroutines, u.resident>>20, u.heap>>10)
}
