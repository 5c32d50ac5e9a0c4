package nicoffload

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// core begins to measure the processor time of this thread, and returns a function that reports the
// number of operations per second of it. Wall-clock time would be wrong on a machine with other
// load.
func core(b *testing.B) (report func(unit string)) {
	runtime.LockOSThread()
	b.Cleanup(runtime.UnlockOSThread)
	begin := threadTime()
	return func(unit string) {
		if took := threadTime() - begin; took > 0 {
			b.ReportMetric(float64(b.N)/took.Seconds()/1e6, unit+"/core")
		}
	}
}

func threadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
