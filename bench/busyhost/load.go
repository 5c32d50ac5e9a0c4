package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuSample is a reading of the machine's CPU counters.
type cpuSample struct {
	total, used, stolen time.Duration // of all CPUs; used by processes, stolen by the hypervisor
	own                 time.Duration // used by this process and its waited-for children
}

// tick is the unit of /proc/stat, USER_HZ.
const tick = 10 * time.Millisecond

// sampleCPU reads the counters. They are zero if unavailable.
func sampleCPU() cpuSample {
	text, _ := os.ReadFile("/proc/stat") // unavailable counts as no load
	s := parseStat(string(text))
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if unix.Getrusage(who, &r) == nil {
			s.own += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return s
}

// parseStat reads the first line of /proc/stat.
func parseStat(text string) (s cpuSample) {
	line, _, _ := strings.Cut(text, "\n")
	var user, nice, system, idle, iowait, irq, softirq, steal time.Duration
	if n, _ := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle,
		&iowait, &irq, &softirq, &steal); n < 8 {
		return cpuSample{}
	}
	s.used = (user + nice + system + irq + softirq) * tick
	s.stolen = steal * tick
	s.total = s.used + s.stolen + (idle+iowait)*tick
	return s
}

// others returns the share of the machine that other processes used since an earlier sample.
func (s cpuSample) others(before cpuSample) float64 {
	return part(s.used-before.used-(s.own-before.own), s.total-before.total)
}

// steal returns the share of the machine's time that the hypervisor used since an earlier sample.
func (s cpuSample) steal(before cpuSample) float64 {
	return part(s.stolen-before.stolen, s.total-before.total)
}

func part(d, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return max(0, min(1, float64(d)/float64(of)))
}

// loadAverage returns the three averages of /proc/loadavg.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) >= 3 {
		return strings.Join(f[:3], " ")
	}
	return "unknown"
}
