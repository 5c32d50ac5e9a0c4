package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Exchange is the outcome of a claim that holds when the results of two schemes that it compares
// are exchanged. A claim that still holds does not discriminate.
type Exchange struct {
	Of    string `json:"of"`    // what was exchanged: PrioPlus and Swift
	Value Value  `json:"value"` // the metric after it
	Holds bool   `json:"holds"`
}

// Same reports whether two values are the same to the condition, but for rounding. To each, the
// order and the names of the elements do not matter.
func (e *Expect) Same(v, w Value) bool {
	a, b := e.elements(v), e.elements(w)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !near(a[i], b[i]) {
			return false
		}
	}
	return true
}

// elements returns what e judges one by one, in an order of its own.
func (e *Expect) elements(v Value) []Value {
	series, err := v.series()
	if e.Op != "each" || err != nil {
		return []Value{v}
	}
	slices.SortStableFunc(series, func(v, w Value) int {
		x, _, _ := v.scalar()
		y, _, _ := w.scalar()
		return cmp.Compare(x, y)
	})
	return series
}

// near reports whether two values are equal but for rounding, as of sums in another order.
func near(v, w Value) bool {
	x, kind, isNumber := v.scalar()
	y, other, _ := w.scalar()
	if isNumber && kind == other {
		return x == y || math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
	}
	a, err := v.series()
	if err != nil {
		return v.String() == w.String()
	}
	b, err := w.series()
	if err != nil || len(a) != len(b) {
		return false
	}
	for i := range a {
		if !near(a[i], b[i]) {
			return false
		}
	}
	return true
}

// discriminates returns what is wrong with the catalogue's reason for a claim that holds with
// exchanged results at small scale, or "".
func (c *Claim) discriminates(s Scale, v *Verdict) string {
	if s != SmallScale || v.Outcome() != Holds || c.Expected(s).isMachine() {
		return ""
	}
	x := v.Exchange
	switch {
	case x != nil && x.Holds && c.HoldsExchanged == "":
		return fmt.Sprintf("does not discriminate: with the results of %s exchanged it holds too "+
			"(expected %v, got %v, and then %v), and the catalogue does not say why "+
			"(holds_exchanged)", x.Of, c.At(s), v.Value, x.Value)
	case x != nil && !x.Holds && c.HoldsExchanged != "":
		return fmt.Sprintf("discriminates: with the results of %s exchanged it fails; remove "+
			"holds_exchanged from the catalogue", x.Of)
	case x == nil && c.HoldsExchanged != "":
		return "no exchange of results tests it; remove holds_exchanged from the catalogue"
	}
	return ""
}
