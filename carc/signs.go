package carc

import "github.com/goroce/goroce/units"

// Signs that reads are about to miss, besides how much is unconsumed: what a program may tell the
// Sensor.

const (
	// inflated is how much dearer a line is than at its best when reads miss; missed is the part of
	// canaries that does (OURS).
	inflated = 1.3
	outlier  = 2 // times the mean is the most that a cost counts
	missed   = 0.05
	// fewest is how many canaries can tell such a part.
	fewest = 20
)

// CostKinds is how many kinds of messages have a cost of their own.
const CostKinds = 8

// canary counts first touches, and those that missed.
type canary struct{ missed, all int }

// cost is what lines of a kind of message take of the program's time.
type cost struct {
	line        float64 // units.Duration, smoothed
	least, last float64 // of windows of this second and the one before
	until       units.Time
}

// Canary says how long the program took to touch a line first, one in a message at the head of its
// queue.
func (s *Sensor) Canary(took units.Duration, now units.Time) {
	s.pass(now)
	s.canary.all++
	if took > (s.hit+s.miss)/2 {
		s.canary.missed++
	}
}

// Calibrate says what a first touch takes in the cache, and in memory.
func (s *Sensor) Calibrate(hit, miss units.Duration) { s.hit, s.miss = hit, miss }

// Missed says which part of reads missed, 0 to 1, as a counter of the machine tells it.
func (s *Sensor) Missed(part float64, now units.Time) {
	s.pass(now)
	s.counted = part > missed
}

// Cost says how long the program took with so many bytes of a kind of message, of those below
// CostKinds. Only of kinds whose work is always the same does that tell anything.
func (s *Sensor) Cost(kind int, bytes units.Bytes, took units.Duration, now units.Time) {
	s.pass(now)
	if kind < 0 || kind >= CostKinds || bytes <= 0 || took <= 0 {
		return
	}
	c := &s.costs[kind]
	line := float64(took) / float64(bytes)
	if c.line == 0 {
		c.line, c.least, c.last, c.until = line, line, line, now.Add(units.Second)
	}
	// else one in which something else ran counts for all
	c.line += (min(line, outlier*c.line) - c.line) * smoothing
	if !c.until.After(now) {
		c.last, c.least, c.until = c.least, c.line, now.Add(units.Second)
	}
	c.least = min(c.least, c.line)
}

// near says whether the window shows that reads are about to miss.
func (s *Sensor) near() bool {
	if 10*s.most > 9*s.llc || s.counted {
		return true
	}
	if s.canary.all >= fewest {
		part := float64(s.canary.missed) / float64(s.canary.all)
		s.canary = canary{}
		if part > missed {
			return true
		}
	}
	if s.most == 0 { // few, and no more will come
		s.canary = canary{}
	}
	for i := range s.costs {
		c := &s.costs[i]
		if ceased := s.ends.Sub(c.until) > units.Second; !ceased && c.line > inflated*min(c.least,
			c.last) {
			return true
		}
	}
	return false
}
