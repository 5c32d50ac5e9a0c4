package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Preemption is what takes a poller's core away now and then: another thread, an interrupt, the
// hypervisor. The zero value never does.
type Preemption struct {
	// Every is the time from the beginning of one absence to that of the next; the mean of it when
	// Random.
	Every units.Duration
	// Shortest and Longest say how long one lasts: any time in between. Longest 0 means Shortest.
	Shortest, Longest units.Duration
	// Random has them begin at random, as a Poisson process that pauses during each.
	Random bool
	// InStep has all hosts with the same Preemption be away at the same time. Otherwise each has a
	// phase of its own.
	InStep bool
}

// Most is how long an absence lasts at most.
func (p Preemption) Most() units.Duration { return max(p.Shortest, p.Longest) }

func (p Preemption) validate() error {
	if p.Every == 0 {
		return nil
	}
	if p.Shortest <= 0 || p.Longest != 0 && p.Longest < p.Shortest || p.Most() >= p.Every {
		return fmt.Errorf("preemption %+v: absences are positive, and shorter than what is "+
			"between their beginnings", p)
	}
	return nil
}

// absences are a preemption at work: it moves forward with time. The core is away from from to
// until, and was last given back at ended.
type absences struct {
	Preemption
	rng                *rand.Rand
	slot               units.Time // from which the next one counts, when they are periodic
	ended, from, until units.Time
}

func newAbsences(p Preemption, rng *rand.Rand) *absences {
	a := &absences{Preemption: p, rng: rng}
	if !p.InStep && !p.Random {
		a.slot = a.slot.Add(-units.Duration(rng.Int64N(int64(p.Every))))
	}
	a.draw()
	return a
}

// advance makes the absence at hand the first that ends after now.
func (a *absences) advance(now units.Time) {
	for !a.until.After(now) {
		a.ended = a.until
		a.draw()
	}
}

// draw makes the next absence.
func (a *absences) draw() {
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
