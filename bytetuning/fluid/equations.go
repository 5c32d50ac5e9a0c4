package fluid

import "math"

// dcqcn is what equations 6 and 10 to 12 need to know, in packets and seconds.
type dcqcn struct {
	kmin, kmax, pmax  float64
	tau, tauAlpha     float64 // τ, τ'
	timer             float64 // T
	counter           float64 // B
	f                 int     // F
	gain, ai, maxRate float64 // g, R_AI, C
}

func (c *Config) dcqcn() dcqcn {
	return dcqcn{
		kmin: c.packets(c.Kmin), kmax: c.packets(c.Kmax), pmax: c.Pmax,
		tau: c.CNP.Seconds(), tauAlpha: c.AlphaTimer.Seconds(),
		timer: c.Timer.Seconds(), counter: c.packets(c.ByteCounter), f: c.Recoveries,
		gain: c.Gain, ai: c.rate(c.Increase), maxRate: c.rate(c.Rate),
	}
}

// mark is equation 6, the probability that a packet which finds q packets is marked.
func (d *dcqcn) mark(q float64) float64 {
	switch {
	case q <= d.kmin:
		return 0
	case q <= d.kmax:
		return d.pmax * (q - d.kmin) / (d.kmax - d.kmin)
	}
	return 1
}

// feedback is what marks with probability p, at a rate of r, make a flow hear.
type feedback struct {
	cut   float64 // a: a CNP within τ
	alpha float64 // a': within τ'
	up    float64 // r(b+d): steps up a second, by byte counter or timer
	raise float64 // r(c+e): those of them beyond fast recovery
}

// hear answers the feedback. Its limits: without marks b is 1/B and d is 1/(T r); when all are marked no
// counter comes round.
func (d *dcqcn) hear(p, r float64) feedback {
	if r <= 0 {
		return feedback{}
	}
	if p <= 0 {
		up := r/d.counter + 1/d.timer
		return feedback{up: up, raise: up}
	}
	if p >= 1 {
		return feedback{cut: 1, alpha: 1}
	}
	l := math.Log1p(-p) // (1-p)^x = e^(l x)
	cut := -math.Expm1(l * d.tau * r)
	timed := -math.Expm1(l * d.timer * r) // a mark within T
	alpha := timed
	if d.tauAlpha != d.timer {
		alpha = -math.Expm1(l * d.tauAlpha * r)
	}
	// d is p/((1-p)^-x - 1) = p (1-timed)/timed with x = T r, and e is d (1-timed)^F.
	t := p * (1 - timed) / timed
	up, raise := t, t*power(1-timed, d.f)
	if x := -l * d.counter; x < negligible {
		b := p / math.Expm1(x)
		up += b
		raise += b * math.Exp(-x*float64(d.f))
	}
	return feedback{cut: cut, alpha: alpha, up: r * up, raise: r * raise}
}

// negligible is an exponent beyond which the byte counter comes round less than once in 10^17 packets.
const negligible = 40

// power answers x^n.
func power(x float64, n int) float64 {
	y := 1.
	for range n {
		y *= x
	}
	return y
}

// flow is a flow's state, or its rate of change.
type flow struct{ alpha, target, current float64 } // α_D, R_T, R_C

// change is equations 10 to 12.
func (d *dcqcn) change(x flow, h feedback) flow {
	return flow{
		alpha:   d.gain / d.tauAlpha * (h.alpha - x.alpha),
		target:  -(x.target-x.current)*h.cut/d.tau + d.ai*h.raise,
		current: -x.current*x.alpha*h.cut/(2*d.tau) + (x.target-x.current)*h.up/2,
	}
}

// after answers x after dt of change. Rates stay between 0 and C.
func (d *dcqcn) after(x flow, dt float64, change flow) flow {
	return flow{
		alpha:   x.alpha + dt*change.alpha,
		target:  d.bound(x.target + dt*change.target),
		current: d.bound(x.current + dt*change.current),
	}
}

func (d *dcqcn) bound(r float64) float64 {
	if r > d.maxRate { // comparisons: min and max of floats ask for NaN and signed zeros, too
		return d.maxRate
	}
	if r < 0 {
		return 0
	}
	return r
}
