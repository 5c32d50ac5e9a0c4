package packet

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Fault is a kind of fault injected into a frame.
type Fault uint8

// The kinds of fault. At most one is injected into a frame.
const (
	FaultNone      Fault = iota
	FaultLose            // the frame is dropped
	FaultDuplicate       // the frame is delivered twice in a row
	FaultDelay           // the frame is delivered after the ReorderBy frames that follow it
	FaultCorrupt         // one bit of the frame is inverted
	faultKinds
)

// Direction is the direction of a frame through a port.
type Direction uint8

// The directions.
const (
	DirectionSend Direction = iota
	DirectionRecv
	directions
)

// FaultRates are the probabilities of each fault for a frame of one direction. Their sum is at most
// 1.
type FaultRates struct{ Lose, Duplicate, Delay, Corrupt float64 }

// FaultRule injects a fault deterministically. Rules take precedence over probabilities, and the
// first rule that applies to a frame decides. Each rule counts its own matches, whether or not it
// decides.
type FaultRule struct {
	Direction Direction
	Fault     Fault
	Match     func(frame []byte) bool // nil matches every frame
	Nth       int                     // only the nth match, from 1; 0 means every match
}

// FaultOptions configures Faults. The zero value injects no fault.
type FaultOptions struct {
	Seed       uint64
	Send, Recv FaultRates
	ReorderBy  int // number of frames that overtake a delayed one; 0 means 3
	Rules      []FaultRule
}

// faultPlan chooses the faults of one direction.
type faultPlan struct {
	rng        *rand.Rand
	cumulative [faultKinds]float64 // cumulative probabilities
	random     bool
	rules      []FaultRule
	seen       []int // matches of each rule
}

func newFaultPlan(o FaultOptions, d Direction, r FaultRates) (*faultPlan, error) {
	p := &faultPlan{
		rng:        rand.New(rand.NewPCG(o.Seed, uint64(d))), // one stream per direction
		cumulative: [faultKinds]float64{},
	}
	total := 0.0
	for i, rate := range []float64{r.Lose, r.Duplicate, r.Delay, r.Corrupt} {
		if !(rate >= 0 && rate <= 1) {
			return nil, fmt.Errorf("packet: faults: rate %v out of range [0, 1]", rate)
		}
		total += rate
		p.cumulative[i+1] = total
	}
	if total > 1+1e-9 {
		return nil, fmt.Errorf("packet: faults: rates %+v sum to %v, want at most 1", r, total)
	}
	p.random = total > 0
	for _, rule := range o.Rules {
		if rule.Direction >= directions || rule.Fault >= faultKinds || rule.Nth < 0 {
			return nil, fmt.Errorf(
				"packet: faults: rule %+v: direction, fault or match number out of range",
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

// mayDrop reports whether the plan can drop a frame.
func (p *faultPlan) mayDrop() bool {
	for _, r := range p.rules {
		if r.Fault == FaultLose {
			return true
		}
	}
	return p.cumulative[FaultLose] > 0
}

// fate is the fault chosen for a frame, and the bit that a corruption inverts.
type fate struct {
	fault Fault
	bit   int
}

// decide draws the same random numbers for every frame regardless of the rules, so that a rule
// changes only the frames that it matches.
func (p *faultPlan) decide(frame []byte) fate {
	var f fate
	var where uint64
	if p.random || len(p.rules) > 0 {
		u := p.rng.Float64()
		where = p.rng.Uint64()
		for kind := FaultLose; kind < faultKinds && f.fault == FaultNone; kind++ {
			if u < p.cumulative[kind] {
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
