package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// wayBack takes out of a round trip what the answer waited on its way: PrioPlus with one-way delay,
// for paths whose answers cannot ride a higher class. One-way delays have an unknown offset, that
// of the two clocks; but one-way delay less round trip is largest when nothing waited on the way
// back, and what is missing to that is what waited. So it needs no empty queue to learn the base,
// as the least one-way delay would, and thresholds and divisors stay those of round trips.
type wayBack struct {
	most  int32 // nanoseconds, modulo 2^32: the largest difference
	since units.Time
	some  bool
	ev    cc.Event // as if nothing had waited
}

const (
	// drift is how far clocks part in driftTime at most: 100 ppm, the worst that quartz is sold as.
	drift     = 100 // nanoseconds
	driftTime = units.Millisecond
	// forget is after how long without a sample nothing is known any more.
	forget = units.Second
)

// without answers the event as if nothing had waited on the way back. It is valid until the next
// one.
func (w *wayBack) without(ev *cc.Event, now units.Time) *cc.Event {
	_, delay, ok := ev.Fabric()
	if !ok || ev.OneWay == 0 {
		return ev
	}
	apart := int32(ev.OneWay/units.Nanosecond) - int32(delay/units.Nanosecond)
	switch passed := now.Sub(w.since); {
	case !w.some || passed < 0 || passed >= forget:
		w.some, w.since, w.most = true, now, apart
	case passed >= driftTime:
		w.most -= int32(passed / driftTime * drift)
		w.since = now
	}
	if apart-w.most > 0 {
		w.most = apart
	}
	waited := units.Duration(w.most-apart) * units.Nanosecond
	w.ev = *ev
	w.ev.Delay -= min(waited, delay-1)
	return &w.ev
}
