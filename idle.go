package goroce

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/units"
)

// Idle is the policy of a polling core without work.
type Idle uint8

const (
	// IdleSleep spins while the endpoint expects a packet, yields the core to other threads that
	// need it, and naps otherwise. It suits shared cores and is the default.
	IdleSleep Idle = iota
	// IdlePause spins with the processor's PAUSE instruction, which saves power and favours the
	// sibling thread.
	IdlePause
	// IdleSpin spins: the lowest latency, at the cost of a whole core.
	IdleSpin
)

var idleNames = [...]string{IdleSleep: "sleep", IdlePause: "pause", IdleSpin: "spin"}

func (i Idle) String() string {
	if int(i) < len(idleNames) {
		return idleNames[i]
	}
	return fmt.Sprintf("Idle(%d)", uint8(i))
}

// Set parses an idle policy; with String and Type it makes Idle a command line flag.
func (i *Idle) Set(s string) error {
	for v, name := range idleNames {
		if s == name {
			*i = Idle(v)
			return nil
		}
	}
	return fmt.Errorf("goroce: idle policy %q, want spin, pause or sleep", s)
}

// Type returns the flag's argument for usage messages.
func (i *Idle) Type() string { return "spin|pause|sleep" }

// MarshalText implements encoding.TextMarshaler.
func (i Idle) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Idle) UnmarshalText(b []byte) error { return i.Set(string(b)) }

// idleAction is the action of a polling core after a round without work.
type idleAction uint8

const (
	restSpin  idleAction = iota // poll again at once
	restPause                   // poll again after some PAUSE instructions
	restYield                   // yield the core to another thread
	restNap                     // sleep for nap
	restSleep                   // sleep for longNap
)

const (
	// napAfter is how long a core without expected packets spins before it naps.
	napAfter = 25 * units.Microsecond
	// longNapAfter is how long a core is without work before its naps become long.
	longNapAfter = 250 * units.Microsecond
	// Linux wakes a thread 5 to 25 µs late, so shorter naps do not help.
	nap     = 20 * time.Microsecond
	longNap = 50 * time.Microsecond
	pauses  = 8 // PAUSE instructions in a round without work, some 100 ns

	// yieldAfter is how long a core spins before its first yield: longer than the response time of
	// a peer with a core of its own.
	yieldAfter = 2 * units.Microsecond
	// maxIdleYield is the longest duration of a yield when no other thread is runnable.
	maxIdleYield = 1500 * units.Nanosecond
	// minForeignYield is the duration of a yield from which on the other thread was not a peer: it
	// used its whole slice.
	minForeignYield = units.Millisecond
	// The bounds of the interval between useless yields.
	minReserve = 20 * units.Microsecond
	maxReserve = 50 * units.Millisecond
)

// idler decides what a core does without work. It is a state machine:
//
//	working  a round did something: poll again.
//	waiting  a packet is expected or similar (endpoint.Loop.ExpectsResponse): spin for yieldAfter,
//	         then yield if yields bring work, or if the last yield is longer ago than reserve.
//	idle     nothing is expected: the same until napAfter, then nap, longer after longNapAfter.
//
// A yield brings work if the next round has some: a peer was waiting for this core. From then on
// every round without work yields. A useless yield doubles reserve; one that took minForeignYield
// or more sets it to the maximum.
type idler struct {
	policy  Idle
	worked  units.Time     // end of the latest round with work
	reserve units.Duration // between useless yields; 0: yields bring work
	yielded units.Time     // end of the latest yield
	took    units.Duration // duration of the latest yield
	trying  bool           // the round after the latest yield has yet to run
	sleep   func(d time.Duration)
}

func newIdler(policy Idle, now units.Time, shared bool) idler {
	i := idler{policy: policy, worked: now, yielded: now, reserve: minReserve, sleep: sleep}
	if shared { // fewer cores than polling threads
		i.reserve = 0
	}
	return i
}

// sleep sleeps. An early wake-up by a signal is harmless.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}

// work records a round that did something.
func (i *idler) work(now units.Time) {
	i.worked = now
	if i.trying {
		i.trying = false
		if i.took > maxIdleYield && i.took < minForeignYield {
			i.reserve = 0
		}
	}
}

// rest returns the action after a round without work.
func (i *idler) rest(now units.Time, atStake bool) idleAction {
	switch i.policy {
	case IdleSpin:
		return restSpin
	case IdlePause:
		return restPause
	}
	if i.trying { // the yield was useless
		i.trying = false
		i.backOff()
	}
	idle := now.Sub(i.worked)
	switch {
	case !atStake && idle > longNapAfter:
		return restSleep
	case !atStake && idle > napAfter:
		return restNap
	case i.reserve == 0 && idle > yieldAfter/2, idle > yieldAfter && now.Sub(i.yielded) > i.reserve:
		return restYield
	}
	return restSpin
}

// backOff lengthens the interval between yields after a useless one.
func (i *idler) backOff() {
	if i.took >= minForeignYield {
		i.reserve = maxReserve
		return
	}
	i.reserve = min(max(2*i.reserve, minReserve), maxReserve)
}

// yieldedFor records a yield that took so long and ended now.
func (i *idler) yieldedFor(took units.Duration, now units.Time) {
	i.yielded, i.took, i.trying = now, took, true
}

// wait performs r and returns the time after it. The endpoint has something to do at next.
func (i *idler) wait(r idleAction, clock *clock, now, next units.Time) units.Time {
	switch r {
	case restPause:
		relax(pauses)
	case restYield:
		yield()
		after := clock.Now()
		i.yieldedFor(after.Sub(now), after)
		return after
	case restNap, restSleep:
		if d := r.length(next.Sub(now)); d > 0 {
			i.sleep(d)
		}
	}
	return clock.Now()
}

// length returns how long to sleep if the endpoint has something to do after within. It returns 0
// if a nap, which may take twice its length, could end too late.
func (r idleAction) length(within units.Duration) time.Duration {
	d := nap
	if r == restSleep {
		d = longNap
	}
	if within.Std() < 2*d {
		return 0
	}
	return d
}
