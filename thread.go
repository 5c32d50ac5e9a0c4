package goroce

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// polling is the number of polling threads of this process.
var polling atomic.Int32

// pollers has the ids of the polling threads of this process. The slice is replaced, not changed.
var pollers struct {
	sync.Mutex
	ids atomic.Pointer[[]int]
}

// setPoller adds the calling, locked thread to the pollers, or removes it.
func setPoller(polls bool) {
	pollers.Lock()
	defer pollers.Unlock()
	var ids []int
	if old := pollers.ids.Load(); old != nil {
		ids = slices.DeleteFunc(slices.Clone(*old),
			func(id int) bool { return id == unix.Gettid() })
	}
	if polls {
		ids = append(ids, unix.Gettid())
	}
	pollers.ids.Store(&ids)
}

// onPollingCore reports whether the caller runs on a polling core of this process.
func onPollingCore() bool {
	ids := pollers.ids.Load()
	return ids != nil && slices.Contains(*ids, unix.Gettid())
}

// processors returns the number of processors of this process when it was started.
var processors = sync.OnceValue(func() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return runtime.NumCPU()
	}
	return set.Count()
})

// slice is the time slice that a polling thread requests from the scheduler. A waking thread with a
// shorter slice preempts the running one if it has had less than its share (EEVDF, Linux 6.12 and
// later), and a yield forgoes at most one slice. The thread's share of the core is unchanged.
const slice = 100 * units.Microsecond

// prepareThread configures the calling, locked thread for polling. Errors are ignored: they only
// affect latency.
func prepareThread() {
	// The default timer slack would add 50 µs to a nap.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	// Keep real-time classes and nice values.
	if a, err := unix.SchedGetAttr(0, 0); err == nil && a.Policy == unix.SCHED_NORMAL {
		a.Runtime = uint64(slice / units.Nanosecond)
		_ = unix.SchedSetAttr(0, a, 0)
	}
}

// reserveProcs adjusts GOMAXPROCS for n more polling threads, so that other goroutines can run
// beside all of them, and beside callers that doze: a polling goroutine never releases its P.
func reserveProcs(n int32) {
	if want := int(polling.Add(n)) + maxDozing + 1; n >= 0 && runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}

// isOversubscribed reports whether this process has more polling threads than available processors.
func isOversubscribed() bool {
	var set unix.CPUSet
	return unix.SchedGetaffinity(0, &set) == nil && int(polling.Load()) > set.Count()
}

// yield yields the core to another runnable thread.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// isCrowded reports whether other goroutines have no processor beside the polling threads.
func isCrowded() bool { return int(polling.Load()) >= processors() }
