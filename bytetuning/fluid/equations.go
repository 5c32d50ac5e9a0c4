package fluid

import "math"

// dcqcn is what equations 6 and 10 to 12 need to know, in packets and seconds.
type dcqcn struct {
	kmin, kmax, pmax float64
	slope            float64 // of marks between Kmin and Kmax
	tau, tauAlpha    float64 // τ, τ'
	timer            float64 // T
	counter          float64 // B
	f                int     // F
	learn            float64 // g/τ'
	ai, maxRate      float64 // R_AI, C
}

func (c *Config) dcqcn() dcqcn {
	return dcqcn{
		kmin: c.packets(c.Kmin), kmax: c.packets(c.Kmax), pmax: c.Pmax,
		slope: c.Pmax / c.packets(c.Kmax-c.Kmin),
		tau:   c.CNP.Seconds(), tauAlpha: c.AlphaTimer.Seconds(),
		timer: c.Timer.Seconds(), counter: c.packets(c.ByteCounter), f: c.Recoveries,
		learn: c.Gain / c.AlphaTimer.Seconds(), ai: c.rate(c.Increase), maxRate: c.rate(c.Rate),
	}
}

// mark is equation 6, the probability that a packet which finds q packets is marked.
func (d *dcqcn) mark(q float64) float64 {
	switch {
	case q <= d.kmin:
		return 0
	case q <= d.kmax:
		return d.slope * (q - d.kmin)
	}
	return 1
}

// feedback is what marks with probability p, at a rate of r, make a flow hear.
type feedback struct {
	cuts  float64 // a/τ: CNPs a second
	alpha float64 // a': within τ'
	up    float64 // r(b+d): steps up a second, by byte counter or timer
	raise float64 // r(c+e): those of them beyond fast recovery
}

// hear answers the feedback. Its limits: without marks b is 1/B and d is 1/(T r); when all are
// marked no counter comes round.
func (d *dcqcn) hear(p, r float64) feedback {
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
	l := rarely(p)                   // (1-p)^x = e^(-l x)
	timed := within(l * d.timer * r) // a mark within T
	alpha := timed
	if d.tauAlpha != d.timer {
		alpha = within(l * d.tauAlpha * r)
	}
	// d is p/((1-p)^-x - 1) = p (1-timed)/timed with x = T r, and e is d (1-timed)^F.
	t := p * (1 - timed) / timed
	up, raise := t, t*power(1-timed, d.f)
	if x := l * d.counter; x < negligible {
		b := p / math.Expm1(x)
		up += b
		raise += b * math.Exp(-x*float64(d.f))
	}
	return feedback{cuts: within(l*d.tau*r) / d.tau, alpha: alpha, up: r * up, raise: r * raise}
}

// negligible is an exponent beyond which the byte counter comes round less than once in 10^17
// packets.
const negligible = 40

// within answers 1 - e^-x, and rarely -log(1-p): where they are small, as most are, by series, of
// which the rest is beyond the tenth digit. A third of a run's time went into math.Expm1 and Log1p.
func within(x float64) float64 {
	if x > 1./4 {
		return 1 - math.Exp(-x)
	}
	return x * (1 - x*(1./2)*
		(1-x*(1./3)*(1-x*(1./4)*(1-x*(1./5)*(1-x*(1./6)*(1-x*(1./7)*(1-x*(1./8))))))))
}

func rarely(p float64) float64 {
	if p > 1./64 {
		return -math.Log1p(-p)
	}
	return p * (1 + p*(1./2+p*(1./3+p*(1./4+p*(1./5+p*(1./6))))))
}

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
		alpha:   d.learn * (h.alpha - x.alpha),
		target:  -(x.target-x.current)*h.cuts + d.ai*h.raise,
		current: -x.current*x.alpha*h.cuts/2 + (x.target-x.current)*h.up/2,
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
