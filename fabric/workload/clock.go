package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// clock answers the moments at which traffic starts, and false after the last.
type clock interface {
	next() (units.Time, bool)
}

// arrivals is a Poisson process.
type arrivals struct {
	at   units.Time
	end  units.Time // before which all are
	left int        // how many more; negative when without limit
	mean float64    // gap in picoseconds
	rng  *rand.Rand
}

// newArrivals checks a load and makes the process that offers it: events of so many bytes in the
// mean, on links of rate together.
func newArrivals(rng *rand.Rand, bytes, rate, load float64, start, until units.Time,
	count int) (*arrivals, error) {
	if !(load > 0) || math.IsInf(load, 1) {
		return nil, fmt.Errorf("load %v is not a positive number", load)
	}
	if rate <= 0 {
		return nil, errors.New("a rate that is not positive")
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

// periodic ticks at start and every period after it; once when the period is not positive.
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

// end answers what until means, which is without end when 0.
func end(start, until units.Time) units.Time {
	if until == 0 {
		return start.Add(units.Forever)
	}
	return until
}

// limit answers what a count means, which is without end when 0.
func limit(count int) int {
	if count <= 0 {
		return -1
	}
	return count
}

// saturated turns picoseconds into a Duration, at most Forever.
func saturated(picoseconds float64) units.Duration {
	if picoseconds < float64(units.Forever) {
		return units.Duration(picoseconds)
	}
	return units.Forever
}
