package bytetuning

import (
	"fmt"
	"math"
)

// Objective makes a number of a measurement: the larger, the better. It is equation 14, or with
// Fair equation 15. T_max and Q_min are the records so far, so that an energy holds until the next
// record only: who compares, keeps measurements and asks again.
type Objective struct {
	Beta float64 `json:"beta"` // weight of throughput; the rest is latency's
	// judges flows, not switches, and divides by how unlike they are
	Fair  bool    `json:"fair,omitempty"`
	Gamma float64 `json:"gamma,omitempty"` // weight of that

	switches, flows []record
}

// record is the best of one switch or flow.
type record struct{ most, least float64 } // T_max in bit/s, Q_min in cells

// NewObjective answers the paper's: equation 14 with β = 0.5; γ, which it does not give, is 1.
func NewObjective() *Objective { return &Objective{Beta: 0.5, Gamma: 1} }

// Validate says what is impossible.
func (o *Objective) Validate() error {
	if !(o.Beta >= 0 && o.Beta <= 1) {
		return fmt.Errorf("bytetuning: beta %v: want 0 to 1", o.Beta)
	}
	if o.Fair && !(o.Gamma > 0) || math.IsInf(o.Gamma, 0) {
		return fmt.Errorf("bytetuning: gamma %v: want more than 0", o.Gamma)
	}
	return nil
}

// Hear takes in a measurement's records, and says whether there were any.
func (o *Objective) Hear(m *Measurement) bool {
	switches, flows := beat(&o.switches, m.Switches), beat(&o.flows, m.Flows)
	return switches || flows
}

func beat(records *[]record, samples []Sample) (beaten bool) {
	for i, s := range samples {
		if i == len(*records) {
			*records = append(*records, record{0, math.Inf(1)})
		}
		r := &(*records)[i]
		if t := float64(s.Throughput); t > r.most {
			r.most, beaten = t, true
		}
		if q := cells(s); q < r.least {
			r.least, beaten = q, true
		}
	}
	return beaten
}

func cells(s Sample) float64 { return float64(s.Queue) / float64(Cell) }

// Energy answers f of a measurement that was heard.
//
// The best queue is 0, where equation 14 divides by it: a cell is added above and below, as the
// authors' program does. In equation 15 the sum of squares is of rates as parts of the largest
// T_max, and a millionth is added to it, a thousandth of the rate squared, so that equal flows do
// not divide by 0. It prints T_now - T_now, which would be 0: the second is the mean.
func (o *Objective) Energy(m *Measurement) float64 {
	if !o.Fair || len(m.Flows) == 0 {
		return o.sum(o.switches, m.Switches)
	}
	var largest, mean float64
	for i, s := range m.Flows {
		largest = max(largest, o.flows[i].most)
		mean += float64(s.Throughput) / float64(len(m.Flows))
	}
	spread := 1e-6
	for _, s := range m.Flows {
		if largest > 0 {
			d := (float64(s.Throughput) - mean) / largest
			spread += d * d
		}
	}
	return o.sum(o.flows, m.Flows) / (o.Gamma * spread)
}

func (o *Objective) sum(records []record, samples []Sample) (f float64) {
	for i, s := range samples {
		r := records[i]
		if r.most > 0 {
			f += o.Beta * float64(s.Throughput) / r.most
		}
		f += (1 - o.Beta) * (r.least + 1) / (cells(s) + 1)
	}
	return f
}
