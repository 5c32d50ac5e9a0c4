package tocc

import (
	"github.com/goroce/goroce/units"
)

// feedback adapts the rate of credits to the fraction of them that is lost, once per round trip:
// ExpressPass (Cho et al., SIGCOMM'17), by the rules of its authors' ns-2 model or by those of the
// paper. Rates are in bytes of credits on the wire per second.
type feedback struct {
	paper          bool
	target         float64 // fraction of credits that may be lost
	wMin, wMax     float64
	max, cur, w    float64
	credit         float64 // length on the wire
	canIncrease    bool
	total, dropped float64 // credits since the last update
	last           units.Time
}

// addSample records the credits up to one whose data arrived, and how many of them were lost.
func (f *feedback) addSample(credits, lost int) {
	f.total += float64(credits)
	f.dropped += float64(lost)
}

// update applies the rule, at most once per round trip. It is called before a credit is sent.
func (f *feedback) update(rtt units.Duration, now units.Time) {
	passed := now.Sub(f.last)
	if passed < rtt || passed <= 0 || f.total == 0 {
		return
	}
	least := f.credit / rtt.Seconds() // one credit per round trip
	loss := f.dropped / f.total
	target := f.target
	if !f.paper {
		target = (1 - f.cur/f.max) * f.target
	}
	switch {
	case loss > target:
		f.decrease(loss, target, least, passed)
	case f.paper:
		if f.canIncrease {
			f.w = (f.w + f.wMax) / 2
		}
		f.canIncrease = true
		f.cur = (1-f.w)*f.cur + f.w*f.max*(1+target)
	default:
		if f.canIncrease {
			f.w = min(f.w+0.05, f.wMax)
		}
		f.canIncrease = true
		if f.cur < f.max {
			f.cur = f.w*f.max + (1-f.w)*f.cur
		}
	}
	f.cur = max(least, min(f.cur, f.max))
	f.total, f.dropped, f.last = 0, 0, now
}

func (f *feedback) decrease(loss, target, least float64, passed units.Duration) {
	switch {
	case f.paper:
		f.cur *= (1 - loss) * (1 + target)
	case loss >= 1:
		f.cur = least
	default:
		f.cur = min(f.cur, f.credit*(f.total-f.dropped)/passed.Seconds()*(1+target))
	}
	f.w = max(f.w/2, f.wMin)
	f.canIncrease = false
}
