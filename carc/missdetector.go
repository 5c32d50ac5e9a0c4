package carc

import "github.com/goroce/goroce/units"

// This file detects imminent cache misses from what a program reports to the Sensor, in addition to
// the amount of unconsumed data.

const (
	// inflatedCost is the ratio of the cost of a line to its minimum from which on reads count as
	// misses; missedFraction is the corresponding fraction of canaries (OURS).
	inflatedCost   = 1.3
	maxOutlier     = 2 // maximum of a single cost, in multiples of the mean
	missedFraction = 0.05
	// minCanaries is the number of canaries needed to detect that fraction.
	minCanaries = 20
)

// CostKinds is the number of kinds of messages whose costs are tracked separately.
const CostKinds = 8

// canary counts timed first touches of a line, and those that missed.
type canary struct{ missed, all int }

// cost tracks the program's time per byte for one kind of message.
type cost struct {
	line        float64 // units.Duration, smoothed
	least, last float64 // minimum in this second, and in the one before
	until       units.Time
}

// Canary records how long the program's first touch of a line took: one line of the message at the
// head of its queue.
func (s *Sensor) Canary(took units.Duration, now units.Time) {
	s.advance(now)
	s.canary.all++
	if took > (s.hit+s.miss)/2 {
		s.canary.missed++
	}
}

// Calibrate sets how long a first touch takes in the cache, and in memory.
func (s *Sensor) Calibrate(hit, miss units.Duration) { s.hit, s.miss = hit, miss }

// Missed records the fraction of reads that missed, 0 to 1, from a hardware counter.
func (s *Sensor) Missed(part float64, now units.Time) {
	s.advance(now)
	s.counterMisses = part > missedFraction
}

// Cost records how long the program took for a message of a kind below CostKinds. It is meaningful
// only for kinds whose processing always takes the same work per byte.
func (s *Sensor) Cost(kind int, bytes units.Bytes, took units.Duration, now units.Time) {
	s.advance(now)
	if kind < 0 || kind >= CostKinds || bytes <= 0 || took <= 0 {
		return
	}
	c := &s.costs[kind]
	line := float64(took) / float64(bytes)
	if c.line == 0 {
		c.line, c.least, c.last, c.until = line, line, line, now.Add(units.Second)
	}
	// Limited, so that a message during which something else ran does not dominate the mean.
	c.line += (min(line, maxOutlier*c.line) - c.line) * smoothing
	if !c.until.After(now) {
		c.last, c.least, c.until = c.least, c.line, now.Add(units.Second)
	}
	c.least = min(c.least, c.line)
}

// missesImminent reports whether the window shows that reads are about to miss.
func (s *Sensor) missesImminent() bool {
	if 10*s.maxUnconsumed > 9*s.llc || s.counterMisses {
		return true
	}
	if s.canary.all >= minCanaries {
		part := float64(s.canary.missed) / float64(s.canary.all)
		s.canary = canary{}
		if part > missedFraction {
			return true
		}
	}
	if s.maxUnconsumed == 0 { // too few, and no more to come
		s.canary = canary{}
	}
	for i := range s.costs {
		c := &s.costs[i]
		if ceased := s.ends.Sub(c.until) > units.Second; !ceased &&
			c.line > inflatedCost*min(c.least, c.last) {
			return true
		}
	}
	return false
}
