package packet

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Fault is one thing that can happen to a frame.
type Fault uint8

// What can happen to a frame. At most one of them does.
const (
	FaultNone      Fault = iota
	FaultLose            // it disappears
	FaultDuplicate       // it comes twice, one right after the other
	FaultDelay           // it comes after the ReorderBy frames that follow it
	FaultCorrupt         // one of its bits is wrong
	faultKinds
)

// Direction is which way a frame crosses a port.
type Direction uint8

// The directions.
const (
	DirectionSend Direction = iota
	DirectionRecv
	directions
)

// FaultRates are the probabilities of each fault, for every frame of one direction. Their sum is
// at most 1.
type FaultRates struct{ Lose, Duplicate, Delay, Corrupt float64 }

// FaultRule is a fault that happens for certain. Rules come before probabilities, the first that
// applies decides; each counts its matches for itself.
type FaultRule struct {
	Direction Direction
	Fault     Fault
	Match     func(frame []byte) bool // nil matches every frame
	Nth       int                     // only the nth match, from 1; 0 means each
}

// FaultOptions say what Faults does. The zero value does nothing.
type FaultOptions struct {
	Seed       uint64
	Send, Recv FaultRates
	ReorderBy  int // frames that overtake a delayed one; 0 means 3
	Rules      []FaultRule
}

// faultPlan decides about the frames of one direction.
type faultPlan struct {
	rng    *rand.Rand
	upTo   [faultKinds]float64 // cumulated
	random bool
	rules  []FaultRule
	seen   []int // matches of each rule
}

func newFaultPlan(o FaultOptions, d Direction, r FaultRates) (*faultPlan, error) {
	p := &faultPlan{
		rng:  rand.New(rand.NewPCG(o.Seed, uint64(d))), // a stream of its own for each direction
		upTo: [faultKinds]float64{},
	}
	total := 0.0
	for i, rate := range []float64{r.Lose, r.Duplicate, r.Delay, r.Corrupt} {
		if !(rate >= 0 && rate <= 1) {
			return nil, fmt.Errorf("packet: faults: rate %v is not between 0 and 1", rate)
		}
		total += rate
		p.upTo[i+1] = total
	}
	if total > 1+1e-9 {
		return nil, fmt.Errorf("packet: faults: rates %+v add up to %v, more than 1", r, total)
	}
	p.random = total > 0
	for _, rule := range o.Rules {
		if rule.Direction >= directions || rule.Fault >= faultKinds || rule.Nth < 0 {
			return nil, fmt.Errorf(
				"packet: faults: rule %+v has no such direction, fault or number",
				struct {
					Direction
					Fault
					Nth int
				}{rule.Direction, rule.Fault, rule.Nth})
		}
		if rule.Direction == d {
			p.rules = append(p.rules, rule)
		}
	}
	p.seen = make([]int, len(p.rules))
	return p, nil
}

// loses says whether a frame may disappear.
func (p *faultPlan) loses() bool {
	for _, r := range p.rules {
		if r.Fault == FaultLose {
			return true
		}
	}
	return p.upTo[FaultLose] > 0
}

// fate is what happens to a frame, and to which of its bits.
type fate struct {
	fault Fault
	bit   int
}

// decide draws the same numbers for every frame, whatever the rules say, so that a rule changes
// the fate of one frame only.
func (p *faultPlan) decide(frame []byte) fate {
	var f fate
	var where uint64
	if p.random || len(p.rules) > 0 {
		u := p.rng.Float64()
		where = p.rng.Uint64()
		for kind := FaultLose; kind < faultKinds && f.fault == FaultNone; kind++ {
			if u < p.upTo[kind] {
				f.fault = kind
			}
		}
	}
	decided := false
	for i := range p.rules {
		r := &p.rules[i]
		if r.Match != nil && !r.Match(frame) {
			continue
		}
		p.seen[i] = min(p.seen[i]+1, math.MaxInt32)
		if !decided && (r.Nth == 0 || r.Nth == p.seen[i]) {
			f.fault, decided = r.Fault, true
		}
	}
	if f.fault == FaultCorrupt {
		if len(frame) == 0 {
			return fate{}
		}
		f.bit = int(where % uint64(8*len(frame)))
	}
	return f
}
