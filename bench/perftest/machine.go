package perftest

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/hostsense"
)

// HostInfo describes the machine and the software.
type HostInfo struct {
	CPU    string `json:"cpu"`
	Kernel string `json:"kernel"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"`
	DPDK   string `json:"dpdk"`
	Goroce string `json:"goroce"` // version or commit
}

func thisHost() HostInfo {
	return HostInfo{
		CPU: cpuModel(), Kernel: kernel(), Cores: runtime.NumCPU(), Go: runtime.Version(),
		DPDK: strings.TrimPrefix(eal.Version(), "DPDK "), Goroce: cli.Commit(),
	}
}

func cpuModel() string {
	c, _ := hostsense.This().CPU() // best effort
	return cmp.Or(c.Name, "unknown")
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// CPU is the processor time of the process: all threads, including polling ones.
type CPU struct {
	User    float64 `json:"user_s"`
	System  float64 `json:"sys_s"`
	Percent float64 `json:"percent"` // of one core
}

// GC is the garbage collector's activity in the same period.
type GC struct {
	Cycles int64   `json:"cycles"`
	Total  float64 `json:"pause_total_us"`
	Max    float64 `json:"pause_max_us"`
}

// usage is a reading of the process's resource usage.
type usage struct {
	at        time.Time
	user, sys time.Duration
	gc        debug.GCStats
}

func usageNow() usage {
	u := usage{at: time.Now()}
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.user, u.sys = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
	}
	debug.ReadGCStats(&u.gc)
	return u
}

// until returns the usage between two readings.
func (u usage) until(v usage) (CPU, GC) {
	c := CPU{User: (v.user - u.user).Seconds(), System: (v.sys - u.sys).Seconds()}
	if wall := v.at.Sub(u.at).Seconds(); wall > 0 {
		c.Percent = 100 * (c.User + c.System) / wall
	}
	g := GC{Cycles: v.gc.NumGC - u.gc.NumGC, Total: micros(v.gc.PauseTotal - u.gc.PauseTotal)}
	for i, pause := range v.gc.Pause { // newest first
		if int64(i) >= g.Cycles {
			break
		}
		g.Max = max(g.Max, micros(pause))
	}
	return c, g
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
