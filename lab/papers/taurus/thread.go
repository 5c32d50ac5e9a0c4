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

// threadTime returns the CPU time of this thread: on a machine with other load it is less than
// wall-clock time.
func threadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// ownCore makes the goroutine the only one of its thread, and gives the thread real-time priority
// if the process may. The thread ends with the goroutine.
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
				_ = unix.SchedSetaffinity(0, &one) // otherwise it shares
				break
			}
			nth++
		}
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20) // only root may
}

// switches returns how often this thread has lost its core so far.
func switches() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Nivcsw + u.Nvcsw
}

// loadAverage returns the machine's load of the last minute; 0 if it is unknown.
func loadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}

var epoch = time.Now()

// wall returns the time since this program began.
func wall() units.Time { return units.Time(units.FromStd(time.Since(epoch))) }
