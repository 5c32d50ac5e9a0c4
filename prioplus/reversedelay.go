package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// reverseDelay subtracts from a round trip the time that the reply waited on its way back: PrioPlus
// with one-way delay, for paths whose replies cannot use a higher class. One-way delays have an
// unknown offset, that of the two clocks. But the difference of one-way delay and round trip is
// largest when nothing waited on the way back, and what a sample lacks to the largest difference is
// what its reply waited. Hence it needs no empty queue to learn the base, as the least one-way
// delay would, and thresholds and divisors stay those of round trips.
type reverseDelay struct {
	maxDiff   int32 // largest difference, in nanoseconds modulo 2^32
	updatedAt units.Time
	valid     bool
	ev        cc.Event // the event without the waiting time
}

const (
	// maxDrift is how far the clocks diverge in driftTime at most: 100 ppm, the worst specification
	// of quartz.
	maxDrift  = 100 // nanoseconds
	driftTime = units.Millisecond
	// sampleLifetime is the time without a sample after which the largest difference is obsolete.
	sampleLifetime = units.Second
)

// subtract returns the event without the waiting time of its reply. It is valid until the next
// call.
func (w *reverseDelay) subtract(ev *cc.Event, now units.Time) *cc.Event {
	_, delay, ok := ev.Fabric()
	if !ok || ev.OneWay == 0 {
		return ev
	}
	apart := int32(ev.OneWay/units.Nanosecond) - int32(delay/units.Nanosecond)
	switch passed := now.Sub(w.updatedAt); {
	case !w.valid || passed < 0 || passed >= sampleLifetime:
		w.valid, w.updatedAt, w.maxDiff = true, now, apart
	case passed >= driftTime:
		w.maxDiff -= int32(passed / driftTime * maxDrift)
		w.updatedAt = now
	}
	if apart-w.maxDiff > 0 {
		w.maxDiff = apart
	}
	waited := units.Duration(w.maxDiff-apart) * units.Nanosecond
	w.ev = *ev
	w.ev.Delay -= min(waited, delay-1)
	return &w.ev
}
