package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// clock returns the times at which flows start, and false after the last.
type clock interface {
	next() (units.Time, bool)
}

// arrivals is a Poisson process.
type arrivals struct {
	at   units.Time
	end  units.Time // exclusive
	left int        // remaining arrivals; negative for no limit
	mean float64    // mean gap in picoseconds
	rng  *rand.Rand
}

// newArrivals returns the process that offers a load: arrivals of bytes on average, on links of
// rate in total.
func newArrivals(rng *rand.Rand, bytes, rate, load float64, start, until units.Time,
	count int) (*arrivals, error) {
	if !(load > 0) || math.IsInf(load, 1) {
		return nil, fmt.Errorf("load %v: want a positive number", load)
	}
	if rate <= 0 {
		return nil, errors.New("rate is not positive")
	}
	mean := bytes * 8 * float64(units.Second) / (load * rate)
	return &arrivals{start, end(start, until), limit(count), mean, rng}, nil
}

func (a *arrivals) next() (units.Time, bool) {
	gap := math.Round(a.rng.ExpFloat64() * a.mean)
	if a.left == 0 || gap >= float64(a.end.Sub(a.at)) {
		a.left = 0
		return 0, false
	}
	a.left--
	a.at = a.at.Add(units.Duration(gap))
	return a.at, true
}

// periodic is a clock with a period, which ticks once if the period is not positive.
type periodic struct {
	at     units.Time
	end    units.Time
	left   int
	period units.Duration
}

func newPeriodic(start, until units.Time, period units.Duration, rounds int) *periodic {
	p := &periodic{start, end(start, until), limit(rounds), period}
	if period <= 0 {
		p.left = 1
	}
	return p
}

func (p *periodic) next() (units.Time, bool) {
	at := p.at
	if p.left == 0 || !at.Before(p.end) {
		return 0, false
	}
	p.left--
	p.at = at.Add(p.period)
	return at, true
}

// end returns until, or a time beyond any simulation if it is 0.
func end(start, until units.Time) units.Time {
	if until == 0 {
		return start.Add(units.Forever)
	}
	return until
}

// limit returns count, or -1 for no limit if it is not positive.
func limit(count int) int {
	if count <= 0 {
		return -1
	}
	return count
}

// saturated converts picoseconds to a Duration of at most Forever.
func saturated(picoseconds float64) units.Duration {
	if picoseconds < float64(units.Forever) {
		return units.Duration(picoseconds)
	}
	return units.Forever
}
