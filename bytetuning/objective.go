package bytetuning

import (
	"fmt"
	"math"
)

// Objective maps a measurement to an energy, larger is better: equation 14, or with Fair equation
// 15. T_max and Q_min are the records so far, so an energy is valid only until the next record. To
// compare measurements, keep them and compute their energies anew.
type Objective struct {
	Beta float64 `json:"beta"` // weight of throughput; latency has 1 - Beta
	// Fair evaluates flows instead of switches and divides by the variance of their rates.
	Fair  bool    `json:"fair,omitempty"`
	Gamma float64 `json:"gamma,omitempty"` // weight of the variance

	switches, flows []record
}

// record holds the best values of one switch or flow.
type record struct{ maxThroughput, minQueue float64 } // T_max in bit/s, Q_min in cells

// NewObjective returns the paper's objective: equation 14 with β = 0.5. The paper does not give
// γ; it is 1 here.
func NewObjective() *Objective { return &Objective{Beta: 0.5, Gamma: 1} }

// Validate returns an error unless Beta is in [0, 1] and, with Fair, Gamma is positive.
func (o *Objective) Validate() error {
	if !(o.Beta >= 0 && o.Beta <= 1) {
		return fmt.Errorf("bytetuning: beta %v: want 0 to 1", o.Beta)
	}
	if o.Fair && !(o.Gamma > 0) || math.IsInf(o.Gamma, 0) {
		return fmt.Errorf("bytetuning: gamma %v: want more than 0", o.Gamma)
	}
	return nil
}

// Observe updates the records with a measurement and reports whether any changed.
func (o *Objective) Observe(m *Measurement) bool {
	switches, flows := updateRecords(&o.switches, m.Switches), updateRecords(&o.flows, m.Flows)
	return switches || flows
}

func updateRecords(records *[]record, samples []Sample) (updated bool) {
	for i, s := range samples {
		if i == len(*records) {
			*records = append(*records, record{0, math.Inf(1)})
		}
		r := &(*records)[i]
		if t := float64(s.Throughput); t > r.maxThroughput {
			r.maxThroughput, updated = t, true
		}
		if q := cells(s); q < r.minQueue {
			r.minQueue, updated = q, true
		}
	}
	return updated
}

func cells(s Sample) float64 { return float64(s.Queue) / float64(Cell) }

// Energy returns f of a measurement that was observed.
//
// The best queue is 0, and equation 14 divides by it. One cell is therefore added to numerator and
// denominator, as in the authors' program. In equation 15 rates are fractions of the largest T_max,
// and 10⁻⁶ is added to the sum of squares so that equal flows do not divide by 0. The paper
// prints T_now - T_now there, which would be 0; the second term is taken to be the mean.
func (o *Objective) Energy(m *Measurement) float64 {
	if !o.Fair || len(m.Flows) == 0 {
		return o.sum(o.switches, m.Switches)
	}
	var largest, mean float64
	for i, s := range m.Flows {
		largest = max(largest, o.flows[i].maxThroughput)
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
		if r.maxThroughput > 0 {
			f += o.Beta * float64(s.Throughput) / r.maxThroughput
		}
		f += (1 - o.Beta) * (r.minQueue + 1) / (cells(s) + 1)
	}
	return f
}
