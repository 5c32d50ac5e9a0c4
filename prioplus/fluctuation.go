package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// swiftBeta is the strength of Swift's multiplicative decrease in the paper (appendix D).
const swiftBeta = 0.8

// Fluctuation returns A of section 4.3.2: how much the delay fluctuates at worst with so many flows
// of the algorithm. The formula is Swift's, with its W_AI and the paper's β and max_mdf, when all
// flows are synchronised:
//
//	x + min(β·x/Target, max_mdf)·Target, x = n·W_AI/LineRate
//
// above and below the target. The paper prints max for min, with which its own 3.2 us would exceed
// half the target. The bound by max_mdf applies only when x is more than 0.62 Target. A channel as
// wide as A puts its target further away than that, so A is (1+β)·x whatever the target is.
func Fluctuation(flows int, inner cc.Spec, path cc.Path) (units.Duration, error) {
	if flows < 1 {
		return 0, fmt.Errorf("prioplus: fluctuation of %d flows, want 1 or more", flows)
	}
	if inner.Name() != "swift" {
		return 0, fmt.Errorf("prioplus: the fluctuation of %s is unknown, want swift "+
			"(section 4.3.2)", inner.Name())
	}
	a, err := inner.Steered(path)
	if err != nil {
		return 0, fmt.Errorf("prioplus: %w", err)
	}
	step := float64(flows) * float64(a.AI()) * float64(path.LineRate.Duration(path.Payload))
	return units.Duration((1 + swiftBeta) * step), nil
}
