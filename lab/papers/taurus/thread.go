package taurus

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// threadTime is the processor's time that this thread has had: on a machine that does other things,
// too, the clock on the wall says less.
func threadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// ownCore makes the goroutine the only one of its thread, and the thread the first in line for a
// core, as far as this process may ask for that. The thread ends with the goroutine.
func ownCore(core int) {
	runtime.LockOSThread()
	var all, one unix.CPUSet
	if unix.SchedGetaffinity(0, &all) == nil {
		for cpu, nth := 0, 0; cpu < 1024; cpu++ {
			if !all.IsSet(cpu) {
				continue
			}
			if nth == core {
				one.Set(cpu)
				_ = unix.SchedSetaffinity(0, &one) // else it shares
				break
			}
			nth++
		}
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20) // only root may
}

// switches is how often this thread has lost its core so far.
func switches() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Nivcsw + u.Nvcsw
}

// loadAverage is how many threads of the machine wanted a core in the last minute; 0 when nobody
// knows.
func loadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}

var epoch = time.Now()

// wall is the time since this program began.
func wall() units.Time { return units.Time(units.FromStd(time.Since(epoch))) }
