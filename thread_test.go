package goroce

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// onThrowawayThread runs a function on a thread that ends with it.
func onThrowawayThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		f()
	}()
	<-done
}

// scheduling is the observed state of a thread.
type scheduling struct {
	policy, priority uint32
	nice             int32
}

func schedulingOf(t *testing.T) (s scheduling, slice units.Duration) {
	a, err := unix.SchedGetAttr(0, 0)
	assert.NoError(t, err)
	if err != nil {
		return s, 0
	}
	return scheduling{a.Policy, a.Priority, a.Nice}, units.Duration(a.Runtime) * units.Nanosecond
}

// A polling thread requests short slices and timer slack, and keeps its scheduling class and nice
// value.
func TestPrepareThread(t *testing.T) {
	for _, c := range []struct {
		name string
		attr unix.SchedAttr
	}{
		{"as it is", unix.SchedAttr{Policy: unix.SCHED_NORMAL}},
		{"nice", unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: 7}},
		{"as a batch", unix.SchedAttr{Policy: unix.SCHED_BATCH, Nice: 3}},
		{"real time, first come first served", unix.SchedAttr{Policy: unix.SCHED_FIFO,
			Priority: 3}},
		{"real time, by turns", unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fair := c.attr.Policy == unix.SCHED_NORMAL || c.attr.Policy == unix.SCHED_BATCH
			var before, after scheduling
			var had, asked units.Duration
			var slack int
			var refused error
			onThrowawayThread(func() {
				attr := c.attr
				attr.Size = unix.SizeofSchedAttr
				own, err := unix.SchedGetAttr(0, 0)
				if err == nil && fair {
					attr.Nice = max(attr.Nice, own.Nice) // only root can revert it
				}
				if refused = unix.SchedSetAttr(0, &attr, 0); refused != nil {
					return
				}
				before, had = schedulingOf(t)
				prepareThread()
				after, asked = schedulingOf(t)
				slack, _ = unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
			})
			if refused != nil {
				t.Skipf("the system does not permit %+v: %v", c.attr, refused)
			}
			assert.Equal(t, c.attr.Policy, before.policy)
			assert.Equal(t, before, after)
			switch {
			case c.attr.Policy != unix.SCHED_NORMAL:
				assert.Equal(t, had, asked)
			case asked != 0: // Linux before 6.12 has no slices
				assert.Equal(t, slice, asked)
			}
			if fair { // a real-time thread has no slack
				assert.Equal(t, 1, slack)
			}
		})
	}
}

// GOMAXPROCS is one more than the number of polling threads, and is never lowered.
func TestMakeRoom(t *testing.T) {
	was, threads := runtime.GOMAXPROCS(0), polling.Load()
	defer func() {
		polling.Store(threads)
		runtime.GOMAXPROCS(was)
	}()
	polling.Store(0)
	for _, c := range []struct {
		name     string
		n        int32
		have     int // initial value; 0: unchanged
		want     int
		thatPoll int32
	}{
		{"the first has no room", 1, 1, 6, 1},
		{"the second neither", 1, 0, 7, 2},
		{"one less leaves it as it is", -1, 0, 7, 1},
		{"and there is room for another", 1, 0, 7, 2},
		{"more than enough stays", 1, 12, 12, 3},
		{"many at once", 9, 0, 17, 12},
		{"one ends, after GOMAXPROCS was lowered", -1, 1, 1, 11},
		{"which is corrected", 0, 0, 16, 11},
		{"all end", -11, 2, 2, 0},
	} {
		if c.have > 0 {
			runtime.GOMAXPROCS(c.have)
		}
		reserveProcs(c.n)
		assert.Equal(t, c.want, runtime.GOMAXPROCS(0), c.name)
		assert.Equal(t, c.thatPoll, polling.Load(), c.name)
	}
}

// A process is crowded if it has more polling threads than available processors.
func TestCrowded(t *testing.T) {
	threads := polling.Load()
	defer polling.Store(threads)
	onThrowawayThread(func() {
		var set, one unix.CPUSet
		assert.NoError(t, unix.SchedGetaffinity(0, &set))
		polling.Store(int32(set.Count()))
		assert.False(t, isOversubscribed())
		polling.Add(1)
		assert.True(t, isOversubscribed())
		for cpu := range 1024 {
			if set.IsSet(cpu) {
				one.Set(cpu)
				break
			}
		}
		assert.NoError(t, unix.SchedSetaffinity(0, &one))
		polling.Store(1)
		assert.False(t, isOversubscribed())
		polling.Store(2)
		assert.True(t, isOversubscribed())
	})
}
