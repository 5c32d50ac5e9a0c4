package prioplus

// ramp is how a flow reaches line rate: its rate, relative to line rate, at equal steps of time;
// perRTT steps are a round trip. It is linear between steps, 0 before the first one, and constant
// after the last one.
type ramp struct {
	rate   []float64
	perRTT int
}

// linear and exponential reach line rate in n round trips (section 4.2.2).
func linear(n int) ramp {
	r := ramp{perRTT: 1}
	for k := range n + 1 {
		r.rate = append(r.rate, float64(k)/float64(n))
	}
	return r
}

func exponential(n int) ramp {
	r := ramp{rate: make([]float64, n+1), perRTT: 1}
	rate := 1.0
	for k := n; k >= 0; k-- {
		r.rate[k] = rate
		rate /= 2
	}
	return r
}

// lineRate reaches it at once.
func lineRate() ramp { return ramp{rate: []float64{1}, perRTT: 1} }

func (r ramp) at(k int) float64 {
	if k < 0 {
		return 0
	}
	return r.rate[min(k, len(r.rate)-1)]
}

// delayed returns how much less it sends than at line rate, in BDP.
func (r ramp) delayed() float64 {
	sum := 0.0
	for k := range len(r.rate) - 1 {
		sum += 1 - (r.rate[k]+r.rate[k+1])/2
	}
	return sum / float64(r.perRTT)
}

// step returns the largest growth of the rate in a round trip.
func (r ramp) step() float64 {
	most := 0.0
	for k := -r.perRTT; k < len(r.rate); k++ {
		most = max(most, r.at(k+r.perRTT)-r.at(k))
	}
	return most
}

// backlog returns b(a) of appendix C, in BDP: the link is just full at step a, and the excess sent
// in the round trip until the sender learns of it waits in the queue.
func (r ramp) backlog(a int) float64 {
	sum := 0.0
	for k := a; k < a+r.perRTT; k++ {
		sum += (r.at(k)+r.at(k+1))/2 - r.at(a)
	}
	return sum / float64(r.perRTT)
}

// worst returns the largest backlog for a from one step to another, and mean returns their mean by
// the trapezoid rule.
func (r ramp) worst(from, to int) (worst, mean float64) {
	for a := from; a <= to; a++ {
		b := r.backlog(a)
		worst = max(worst, b)
		if a == from || a == to {
			b /= 2
		}
		mean += b
	}
	return worst, mean / float64(to-from)
}
