package goroce

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// Idle says what a polling core does when there is nothing to do.
type Idle uint8

const (
	// IdleSleep spins for a while, then naps for 5 µs, later 50 µs, at a time: polite where cores
	// are shared. The default.
	IdleSleep Idle = iota
	// IdlePause spins with the processor's PAUSE instruction: spares power and the sibling thread.
	IdlePause
	// IdleSpin spins: the lowest latency, a whole core.
	IdleSpin
)

var idleNames = [...]string{IdleSleep: "sleep", IdlePause: "pause", IdleSpin: "spin"}

func (i Idle) String() string {
	if int(i) < len(idleNames) {
		return idleNames[i]
	}
	return fmt.Sprintf("Idle(%d)", uint8(i))
}

// Set reads an idle policy; with String and Type it makes Idle a command line flag.
func (i *Idle) Set(s string) error {
	for v, name := range idleNames {
		if s == name {
			*i = Idle(v)
			return nil
		}
	}
	return fmt.Errorf("goroce: idle policy %q is none of spin, pause, sleep", s)
}

// Type names the flag's argument.
func (i *Idle) Type() string { return "spin|pause|sleep" }

// MarshalText and UnmarshalText are for configuration files.
func (i Idle) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (i *Idle) UnmarshalText(b []byte) error { return i.Set(string(b)) }

const (
	// patience is for how long a sleeper spins without work before it naps. It is longer than a short nap takes, or
	// else two ends that once missed each other would go on doing so, each napping while the other looks. Time and not
	// rounds: on a core that two of them share, what makes rounds longer would make each wait for the other longer.
	patience = 25 * units.Microsecond
	nap      = 5 * time.Microsecond
	// weariness is how long without work makes naps long.
	weariness = 250 * units.Microsecond
	longNap   = 50 * time.Microsecond
	pauses    = 8 // PAUSEs in a round without work, some 100 ns
)

// prepare makes the calling thread's naps as short as they are asked for: the kernel is otherwise
// free to add 50 µs. It runs once, on the polling thread.
func (i Idle) prepare() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it naps are longer, no more
}

// rest waits as the policy says, after a round that found no work; the last that did was at a time before.
func (i Idle) rest(worked, now, next units.Time) {
	switch {
	case i == IdlePause:
		relax(pauses)
	case i == IdleSleep && now.Sub(worked) > patience:
		d := nap
		if now.Sub(worked) > weariness {
			d = longNap
		}
		d = min(d, next.Sub(now).Std())
		if d < time.Microsecond {
			return
		}
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&ts, nil) // woken early by a signal is as good
	}
}
