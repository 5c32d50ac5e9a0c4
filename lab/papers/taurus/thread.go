package taurus

import (
	"os"
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
