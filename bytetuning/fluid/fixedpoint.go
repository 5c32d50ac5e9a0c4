package fluid

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/units"
)

// Point is where equations 8 to 12 stand still: N equal flows at C/N.
type Point struct {
	Mark   float64       // p*
	Alpha  float64       // α*
	Target units.BitRate // R_T*
	Rate   units.BitRate // R_C* = C/N
	// Queue is q*, in packets, when Equilibrium says that there is one: beyond Pmax marks jump to
	// 1, and the queue goes around Kmax instead.
	Queue       float64
	Equilibrium bool
}

// FixedPoint answers it for all flows of c, as if they were alike.
//
// With r = C/N: α* = a'(p*); equation 11 gives R_T* = r + τ R_AI r(c+e)/a, and equation 12 then
// α a² = τ² R_AI r(c+e)(b+d), whose left side grows with p and whose right side falls.
func FixedPoint(c Config) (Point, error) {
	if err := c.Validate(); err != nil {
		return Point{}, err
	}
	d := c.dcqcn()
	r := d.maxRate / c.flows()
	lo, hi := 0., 1.
	for range 200 {
		p := (lo + hi) / 2
		h := d.hear(p, r)
		if h.alpha*h.cuts*h.cuts*r < d.ai*h.raise*h.up {
			lo = p
		} else {
			hi = p
		}
	}
	p := (lo + hi) / 2
	h := d.hear(p, r)
	if h.cuts == 0 || p >= 1 {
		return Point{}, fmt.Errorf("fluid: %v flows at %v: no fixed point", c.flows(), c.Rate)
	}
	at := Point{Mark: p, Alpha: h.alpha, Rate: c.bits(r), Target: c.bits(r + d.ai*h.raise/h.cuts),
		Equilibrium: p <= d.pmax}
	if at.Equilibrium {
		at.Queue = d.kmin + p/d.pmax*(d.kmax-d.kmin)
	}
	return at, nil
}

// SmallMark is p* for a small one (Zhu et al., "ECN or Delay", CoNEXT 2016): a bound, 16 to 58 %
// high for 2 to 64 flows of table 4.
func SmallMark(c Config) float64 {
	d := c.dcqcn()
	r := d.maxRate / c.flows()
	return math.Cbrt(d.ai / (d.tauAlpha * r * r) * math.Pow(1/d.counter+1/(d.timer*r), 2))
}

// flows answers N.
func (c *Config) flows() float64 {
	n := 0
	for _, f := range c.Flows {
		n += f.N
	}
	return float64(n)
}
