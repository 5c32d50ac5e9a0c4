package goroce

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// polling is how many threads of this process poll.
var polling atomic.Int32

// slice is what a polling thread asks the scheduler for at a time. A thread with a shorter slice
// than that which has the core gets it when it wakes, if it has had less than its share (Linux from
// 6.12 on, EEVDF); and a yield costs it no more than that. Its share of the core is the same.
const slice = 100 * units.Microsecond

// prepareThread makes the calling thread, which is locked, fit to poll. What the system refuses is
// a matter of latency, no more.
func prepareThread() {
	// Else the kernel is free to add 50 µs to a nap.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	// Who asked for a real-time class has it, and a nice value remains.
	if a, err := unix.SchedGetAttr(0, 0); err == nil && a.Policy == unix.SCHED_NORMAL {
		a.Runtime = uint64(slice / units.Nanosecond)
		_ = unix.SchedSetAttr(0, a, 0)
	}
}

// makeRoom sees to it that every polling thread, n more included, can run at the same time as other
// goroutines: a poller never gives back what it has of GOMAXPROCS.
func makeRoom(n int32) {
	if want := int(polling.Add(n)) + 1; n > 0 && runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}

// crowded reports whether this process has more polling threads than processors that it may use.
func crowded() bool {
	var set unix.CPUSet
	return unix.SchedGetaffinity(0, &set) == nil && int(polling.Load()) > set.Count()
}

// yield lets another thread have the core that waits for it.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
