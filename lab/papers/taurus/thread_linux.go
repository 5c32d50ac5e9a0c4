package taurus

import (
	"runtime"

	"golang.org/x/sys/unix"
)

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
