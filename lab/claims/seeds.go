package claims

import (
	"fmt"
	"math"
)

// SeedVerdict is the outcome of one seed's results for a claim.
type SeedVerdict struct {
	Value Value `json:"value"`
	Pass  *bool `json:"pass"`
}

// Spread describes the outcomes of the seeds alone: with how many the claim holds and, if its value
// is a number, the least and the largest. It is empty if BySeed is.
func (v *Verdict) Spread() string {
	if len(v.BySeed) == 0 {
		return ""
	}
	holds, numbers := 0, true
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range v.BySeed {
		if s.Pass != nil && *s.Pass {
			holds++
		}
		x, _, ok := s.Value.Quantity()
		numbers = numbers && ok
		low, high = min(low, x), max(high, x)
	}
	text := fmt.Sprintf("holds with %d of %d seeds alone", holds, len(v.BySeed))
	if numbers {
		text += fmt.Sprintf(", %.3g to %.3g", low, high)
	}
	return text
}
