package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// stallMonitor sums the time for which this process could not run because it was stopped or other
// processes had the cores. It detects this by a late ticker. CPU time that the process itself used
// meanwhile is not counted: then it is late because of its own load.
type stallMonitor struct {
	mu       sync.Mutex
	lastTime time.Time
	lastCPU  time.Duration // CPU time until then
	sum      time.Duration
}

const (
	stallTick = 10 * time.Millisecond
	minStall  = 50 * time.Millisecond // gap that counts as a stall
)

// startStallMonitor monitors until the process ends.
func startStallMonitor() *stallMonitor {
	w := &stallMonitor{lastTime: time.Now(), lastCPU: cpuTime()}
	go func() {
		for range time.Tick(stallTick) {
			w.total()
		}
	}()
	return w
}

// total returns all stalls until now, including one that the ticker has not noticed yet.
func (w *stallMonitor) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, used := time.Now(), cpuTime()
	gap := now.Sub(w.lastTime)
	if gap > minStall {
		w.sum += max(0, gap-stallTick-(used-w.lastCPU))
	}
	w.lastTime, w.lastCPU = now, used
	return w.sum
}

func cpuTime() time.Duration {
	var t unix.Timespec
	// It fails only if the clock does not exist.
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// machineTime returns the CPU time that all processes of this machine have used, without interrupts
// but with time stolen by the hypervisor. Its resolution is 10 ms.
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

// perCoreShare returns the delay that CPU time of other processes causes on average.
func perCoreShare(d time.Duration) time.Duration {
	return max(0,
		d) / time.Duration(runtime.NumCPU())
}
