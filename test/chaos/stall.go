package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// stallWatch adds up for how long this process could not run: it was stopped, or other processes
// had the cores. A ticker that comes late shows it. What CPU time the process used itself meanwhile
// does not count: where it is late because it has too much to do, that is its own doing.
type stallWatch struct {
	mu   sync.Mutex
	seen time.Time
	used time.Duration // CPU time until then
	sum  time.Duration
}

const (
	stallTick  = 10 * time.Millisecond
	stallLeast = 50 * time.Millisecond // between two looks: a shorter time is no stall
)

// watchStalls watches until the process ends.
func watchStalls() *stallWatch {
	w := &stallWatch{seen: time.Now(), used: cpuTime()}
	go func() {
		for range time.Tick(stallTick) {
			w.total()
		}
	}()
	return w
}

// total returns all stalls until now, also one that ended just now, before the ticker came to it.
func (w *stallWatch) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, used := time.Now(), cpuTime()
	gap := now.Sub(w.seen)
	if gap > stallLeast {
		w.sum += max(0, gap-stallTick-(used-w.used))
	}
	w.seen, w.used = now, used
	return w.sum
}

func cpuTime() time.Duration {
	var t unix.Timespec
	// fails only where there is no such clock
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// machineTime returns the CPU time that all processes of this machine have used, without what the
// kernel does in interrupts, and what a hypervisor kept for others. It is a multiple of 10 ms.
func machineTime() time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ, proc(5)
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	var user, nice, system, idle, wait, irq, softirq, steal int64
	fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait,
		&irq, &softirq, &steal)
	return time.Duration(user+nice+system+steal) * tick
}

// share is the part of all processors' time that makes the machine late by as much.
func share(d time.Duration) time.Duration { return max(0, d) / time.Duration(runtime.NumCPU()) }
