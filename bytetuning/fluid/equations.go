package fluid

import "math"

// dcqcn holds the parameters of equations 6 and 10 to 12, in packets and seconds.
type dcqcn struct {
	kmin, kmax, pmax float64
	slope            float64 // of the marking probability between Kmin and Kmax
	tau, tauAlpha    float64 // τ, τ'
	timer            float64 // T
	counter          float64 // B
	f                int     // F
	gainRate         float64 // g/τ'
	ai, maxRate      float64 // R_AI, C
}

func (c *Config) dcqcn() dcqcn {
	return dcqcn{
		kmin: c.packets(c.Kmin), kmax: c.packets(c.Kmax), pmax: c.Pmax,
		slope: c.Pmax / c.packets(c.Kmax-c.Kmin),
		tau:   c.CNP.Seconds(), tauAlpha: c.AlphaTimer.Seconds(),
		timer: c.Timer.Seconds(), counter: c.packets(c.ByteCounter), f: c.Recoveries,
		gainRate: c.Gain / c.AlphaTimer.Seconds(), ai: c.rate(c.Increase), maxRate: c.rate(c.Rate),
	}
}

// mark returns equation 6: the probability that a packet is marked when it arrives at a queue of q
// packets.
func (d *dcqcn) mark(q float64) float64 {
	switch {
	case q <= d.kmin:
		return 0
	case q <= d.kmax:
		return d.slope * (q - d.kmin)
	}
	return 1
}

// feedback holds the rates of the events that marks cause in a flow.
type feedback struct {
	cuts  float64 // a/τ: CNPs per second
	alpha float64 // a': probability of a mark within τ'
	up    float64 // r(b+d): rate increases per second, by byte counter or timer
	raise float64 // r(c+e): increases per second after fast recovery
}

// feedbackAt returns the feedback at marking probability p and rate r. Its limits: without marks b
// is 1/B and d is 1/(T r); when every packet is marked, neither counter expires.
func (d *dcqcn) feedbackAt(p, r float64) feedback {
	if r <= 0 {
		return feedback{}
	}
	if p <= 0 {
		up := r/d.counter + 1/d.timer
		return feedback{up: up, raise: up}
	}
	if p >= 1 {
		return feedback{cuts: 1 / d.tau, alpha: 1}
	}
	l := negLogOneMinus(p)                // (1-p)^x = e^(-l x)
	timed := oneMinusExp(l * d.timer * r) // probability of a mark within T
	alpha := timed
	if d.tauAlpha != d.timer {
		alpha = oneMinusExp(l * d.tauAlpha * r)
	}
	// d is p/((1-p)^-x - 1) = p (1-timed)/timed with x = T r, and e is d (1-timed)^F.
	t := p * (1 - timed) / timed
	up, raise := t, t*power(1-timed, d.f)
	if x := l * d.counter; x < maxExponent {
		b := p / math.Expm1(x)
		up += b
		raise += b * math.Exp(-x*float64(d.f))
	}
	return feedback{
		cuts:  oneMinusExp(l*d.tau*r) / d.tau,
		alpha: alpha, up: r * up, raise: r * raise,
	}
}

// maxExponent is the exponent beyond which the byte counter expires less than once in 10^17
// packets.
const maxExponent = 40

// oneMinusExp returns 1 - e^-x, by a series where x is small. The truncation error is beyond the
// tenth digit. math.Expm1 and Log1p took a third of the time of a run.
func oneMinusExp(x float64) float64 {
	if x > 1./4 {
		return 1 - math.Exp(-x)
	}
	return x * (1 - x*(1./2)*
		(1-x*(1./3)*(1-x*(1./4)*(1-x*(1./5)*(1-x*(1./6)*(1-x*(1./7)*(1-x*(1./8))))))))
}

// negLogOneMinus returns -log(1-p), by a series where p is small, as in oneMinusExp.
func negLogOneMinus(p float64) float64 {
	if p > 1./64 {
		return -math.Log1p(-p)
	}
	return p * (1 + p*(1./2+p*(1./3+p*(1./4+p*(1./5+p*(1./6))))))
}

// power returns x^n.
func power(x float64, n int) float64 {
	y := 1.
	for range n {
		y *= x
	}
	return y
}

// flow is a flow's state, or its rate of change.
type flow struct{ alpha, target, current float64 } // α_D, R_T, R_C

// derivative returns equations 10 to 12.
func (d *dcqcn) derivative(x flow, h feedback) flow {
	return flow{
		alpha:   d.gainRate * (h.alpha - x.alpha),
		target:  -(x.target-x.current)*h.cuts + d.ai*h.raise,
		current: -x.current*x.alpha*h.cuts/2 + (x.target-x.current)*h.up/2,
	}
}

// advance returns x after a step of dt with a constant derivative. Rates stay between 0 and C.
func (d *dcqcn) advance(x flow, dt float64, derivative flow) flow {
	return flow{
		alpha:   x.alpha + dt*derivative.alpha,
		target:  d.bound(x.target + dt*derivative.target),
		current: d.bound(x.current + dt*derivative.current),
	}
}

func (d *dcqcn) bound(r float64) float64 {
	if r > d.maxRate { // comparisons: min and max also check for NaN and signed zeros
		return d.maxRate
	}
	if r < 0 {
		return 0
	}
	return r
}
