package taurus

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor's time that this thread has had: on a machine that does other things, too, the clock on the
// wall says less.
func threadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
