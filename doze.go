package goroce

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// doze lets a thread sleep for a moment, from which others can wake it. That takes some 5 µs,
// and a goroutine that waits in the Go scheduler 20 to 70 µs if its waker is a polling core:
// that never releases its P, and a thread that would steal the goroutine from it first sleeps for
// 3 µs, plus its timer slack.
type doze struct {
	own    atomic.Uint32
	shared *atomic.Uint32 // in memory that other processes map; nil: own
}

// sleeping returns the word that is 1 while the thread sleeps, and the flag of futex(2) with which
// only threads of this process see it.
func (z *doze) sleeping() (word *atomic.Uint32, private uintptr) {
	if z.shared != nil {
		return z.shared, 0
	}
	return &z.own, futexPrivate
}

const (
	// dozeTime is how long a caller of a Conn dozes. When it has not been woken by then, the wait
	// is longer than a round trip, and the Go scheduler takes over.
	dozeTime = 2 * time.Millisecond
	// maxDozing is how many callers of the process doze at a time. Each occupies a thread and a P.
	maxDozing = 4
)

// dozing is how many callers doze.
var dozing atomic.Int32

// try dozes until wake is called, for dozeTime at most. It returns at once if due reports that
// there is nothing to wait for, if too many others doze, or without polling threads: simulated time
// does not pass while a thread sleeps.
func (z *doze) try(due func() bool) {
	if polling.Load() == 0 {
		return
	}
	// A goroutine that the caller has made runnable, such as the receiver of a value, would wait
	// for this P: 174 µs instead of 60 for a call of examples/rpc.
	runtime.Gosched()
	if dozing.Add(1) <= maxDozing {
		z.wait(dozeTime, due)
	}
	dozing.Add(-1)
}

// wait sleeps for d at most, unless due reports that there is something to do. A producer makes its
// work visible and then calls wake, so that one of them notices the other.
func (z *doze) wait(d time.Duration, due func() bool) {
	word, private := z.sleeping()
	word.Store(1)
	if !due() {
		ts := unix.NsecToTimespec(int64(d))
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)),
			futexWait|private, 1, uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
	word.Store(0)
}

// wake ends a wait, and reports whether there was one. Without, it makes no system call.
func (z *doze) wake() bool {
	word, private := z.sleeping()
	if word.Load() != 1 || !word.CompareAndSwap(1, 0) {
		return false
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)),
		futexWake|private, 1, 0, 0, 0)
	return true
}

// Operations of futex(2): FUTEX_WAIT, FUTEX_WAKE and FUTEX_PRIVATE_FLAG.
const (
	futexWait    = 0
	futexWake    = 1
	futexPrivate = 128
)
