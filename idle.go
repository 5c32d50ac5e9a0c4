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
	// IdleSleep spins while an answer is under way, lets other threads have the core where they
	// need it, and naps when nothing is under way: polite where cores are shared. The default.
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

// rest is what a polling core does after a round without work.
type rest uint8

const (
	restSpin  rest = iota // poll again at once
	restPause             // poll again after some PAUSE instructions
	restYield             // let another thread have the core that waits for it
	restNap               // sleep for nap
	restSleep             // sleep for longNap
)

const (
	// patience is for how long a core spins without work before it naps, where nothing is under
	// way.
	patience = 25 * units.Microsecond
	// weariness is how long without work makes naps long.
	weariness = 250 * units.Microsecond
	// Linux wakes a thread some 5 to 25 µs after a shorter sleep, too
	nap     = 20 * time.Microsecond
	longNap = 50 * time.Microsecond
	pauses  = 8 // PAUSEs in a round without work, some 100 ns

	// hesitation is for how long a core spins before it first yields: longer than the answer of a
	// peer takes that has a core of its own.
	hesitation = 2 * units.Microsecond
	// yieldFree is how long a yield takes at most when no other thread wants the core.
	yieldFree = 1500 * units.Nanosecond
	// yieldLong is how long a yield takes when the thread that got the core kept it: it was not a
	// peer.
	yieldLong = units.Millisecond
	// The bounds of how long a core does without yields that brought nothing.
	leastReserve = 20 * units.Microsecond
	mostReserve  = 50 * units.Millisecond
)

// idler decides what a core does without work. It is a state machine:
//
//	working   a round did something: poll again.
//	waiting   an answer is under way, or something else is at stake (transport's Endpoint.AtStake): spin for the
//	          hesitation, then yield when yields bring work, or when they have not been tried for the reserve.
//	idle      nothing is at stake: the same for patience, then naps, which weariness makes long.
//
// A yield brings work when the round after it has some: a peer waits for this core, so every round
// without work yields. One that brings none doubles the reserve, and one that another thread
// answered by keeping the core makes it the longest.
type idler struct {
	policy  Idle
	worked  units.Time     // the newest round with work ended
	reserve units.Duration // between two yields that brought nothing; 0: yields bring work
	yielded units.Time     // the newest yield ended
	took    units.Duration // and how long it was
	trying  bool           // whether it brings work, the next round tells
}

func newIdler(policy Idle, now units.Time, shared bool) idler {
	i := idler{policy: policy, worked: now, yielded: now, reserve: leastReserve}
	if shared { // there are fewer cores than polling threads
		i.reserve = 0
	}
	return i
}

// work notes a round that did something.
func (i *idler) work(now units.Time) {
	i.worked = now
	if i.trying {
		i.trying = false
		if i.took > yieldFree && i.took < yieldLong {
			i.reserve = 0
		}
	}
}

// rest says what to do after a round without work.
func (i *idler) rest(now units.Time, atStake bool) rest {
	switch i.policy {
	case IdleSpin:
		return restSpin
	case IdlePause:
		return restPause
	}
	if i.trying { // the yield brought nothing
		i.trying = false
		i.disappointed()
	}
	idle := now.Sub(i.worked)
	switch {
	case !atStake && idle > weariness:
		return restSleep
	case !atStake && idle > patience:
		return restNap
	case i.reserve == 0 && idle > hesitation/2, idle > hesitation && now.Sub(i.yielded) > i.reserve:
		return restYield
	}
	return restSpin
}

// disappointed lengthens the reserve.
func (i *idler) disappointed() {
	if i.took >= yieldLong {
		i.reserve = mostReserve
		return
	}
	i.reserve = min(max(2*i.reserve, leastReserve), mostReserve)
}

// yieldedFor notes a yield that took so long, and ended now.
func (i *idler) yieldedFor(took units.Duration, now units.Time) {
	i.yielded, i.took, i.trying = now, took, true
}

// wait does what rest said, and returns the time after it. Next is when the endpoint has something
// to do.
func (i *idler) wait(r rest, clock *clock, now, next units.Time) units.Time {
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
			ts := unix.NsecToTimespec(int64(d))
			_ = unix.Nanosleep(&ts, nil) // woken early by a signal is as good
		}
	}
	return clock.Now()
}

// length is how long to sleep when the endpoint has something to do within a time: 0 where a nap,
// which may take twice as long as it is asked to, would end too late.
func (r rest) length(within units.Duration) time.Duration {
	d := nap
	if r == restSleep {
		d = longNap
	}
	if within.Std() < 2*d {
		return 0
	}
	return d
}
