package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Preemption configures preemptions of a poller by other threads, interrupts or the hypervisor. The
// zero value has none.
type Preemption struct {
	// Every is the time from the start of one preemption to the start of the next, or its mean if
	// Random.
	Every units.Duration
	// Shortest and Longest bound the duration, which is uniform between them. Longest 0 means
	// Shortest.
	Shortest, Longest units.Duration
	// Random makes the time between preemptions exponentially distributed.
	Random bool
	// InStep synchronises all hosts with the same Preemption. Otherwise each has its own phase.
	InStep bool
}

// Most returns the maximum duration of a preemption.
func (p Preemption) Most() units.Duration { return max(p.Shortest, p.Longest) }

func (p Preemption) validate() error {
	if p.Every == 0 {
		return nil
	}
	if p.Shortest <= 0 || p.Longest != 0 && p.Longest < p.Shortest || p.Most() >= p.Every {
		return fmt.Errorf("preemption %+v: want 0 < Shortest < Every, and Longest 0 or in "+
			"[Shortest, Every)", p)
	}
	return nil
}

// preemptions is the state of Preemption. The current or next preemption lasts from from to until;
// the previous one ended at ended.
type preemptions struct {
	Preemption
	rng                *rand.Rand
	slot               units.Time // nominal start, if periodic
	ended, from, until units.Time
}

func newPreemptions(p Preemption, rng *rand.Rand) *preemptions {
	a := &preemptions{Preemption: p, rng: rng}
	if !p.InStep && !p.Random {
		a.slot = a.slot.Add(-units.Duration(rng.Int64N(int64(p.Every))))
	}
	a.draw()
	return a
}

// advance moves to the first preemption that ends after now.
func (a *preemptions) advance(now units.Time) {
	for !a.until.After(now) {
		a.ended = a.until
		a.draw()
	}
}

// draw draws the next preemption.
func (a *preemptions) draw() {
	last := a.Shortest
	if a.Longest > a.Shortest {
		last += units.Duration(a.rng.Int64N(int64(a.Longest-a.Shortest) + 1))
	}
	if a.Random {
		mean := a.Every - (a.Shortest+a.Most())/2
		a.from = a.until.Add(1 + units.Duration(a.rng.ExpFloat64()*float64(mean)))
	} else {
		a.slot = a.slot.Add(a.Every)
		a.from = a.slot
	}
	a.until = a.from.Add(last)
}
