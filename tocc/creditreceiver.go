package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// CreditReceiver is the receiver's half of credits (ExpressPass). From request to stop it sends
// credits at a rate, which it adapts to the fraction of them that is lost.
type CreditReceiver struct {
	*plan
	rate         feedback
	adapts       bool // cc=feedback
	running      bool
	nextAt       units.Time // when the next credit is due
	lastReceived units.Time
	srtt         units.Duration
	newest       uint16       // number of the newest credit
	expected     uint16       // credit number of the next data
	sentAt       []units.Time // when credits were sent, by number
	rng          cc.RNG
	stats        Stats
}

const (
	// fullRatePackets is how many packets a flow needs to begin at its full first rate
	// (ExpressPass's model).
	fullRatePackets = 40
	// senderTimeout ends a flow whose sender is silent (ExpressPass's model).
	senderTimeout = 2 * units.Millisecond
	// maxTimedCredits is how many send times of credits are stored: more than a round trip has, a
	// power of two.
	maxTimedCredits = 256
)

func newCreditReceiver(p *plan) *CreditReceiver {
	share := Limiter(TokenWire, p.kw)
	line := float64(p.path.LineRate) / 8 * share
	r := &CreditReceiver{plan: p, adapts: p.cc == "feedback", srtt: p.path.BaseRTT,
		sentAt: make([]units.Time, maxTimedCredits), rng: cc.NewRNG(p.path.Seed)}
	r.rate = feedback{paper: p.feedback == "paper", target: p.loss, wMin: p.wMin, wMax: p.wMax,
		max: line, credit: float64(TokenWire)}
	return r
}

// Stats returns the counters.
func (r *CreditReceiver) Stats() Stats { return r.stats }

// Rate returns the rate of credits as a fraction of the most that a link takes.
func (r *CreditReceiver) Rate() float64 { return r.rate.cur / r.rate.max }

// Arrived implements cc.Granter.
func (r *CreditReceiver) Arrived(a *cc.Arrival, now units.Time) {
	r.lastReceived = now
	if a.Set&cc.MarkUnscheduled != 0 {
		r.stats.Unscheduled += a.Bytes
	}
	// an unscheduled packet has the field but no credit
	if a.Set&cc.MarkGrant == 0 || a.Set&cc.MarkUnscheduled != 0 {
		return
	}
	skipped := int16(a.Grant - r.expected)
	if skipped < 0 || int16(a.Grant-r.newest) > 0 { // late, duplicated or never sent
		return
	}
	r.rate.addSample(int(skipped)+1, int(skipped))
	r.stats.Lost += uint64(skipped)
	r.expected = a.Grant + 1
	if r.newest-a.Grant < maxTimedCredits {
		if sample := now.Sub(r.sentAt[a.Grant%maxTimedCredits]); sample > 0 {
			r.srtt += (sample - r.srtt) / 5
		}
	}
}

// Missing implements cc.Granter: lost data needs credits, and a TOKEN names it.
func (r *CreditReceiver) Missing(_ int, bytes units.Bytes, now units.Time) {
	if !r.running {
		r.startCredits(bytes, now)
	}
}

// Consumed implements cc.Granter.
func (*CreditReceiver) Consumed(units.Bytes, units.Time) {}

// Receive implements cc.Granter.
func (r *CreditReceiver) Receive(n *cc.ControlMessage, now units.Time) error {
	needs := units.Bytes(int32(n.Demand - n.Spent))
	switch {
	case n.Kind != cc.RTS:
		return errNoRTS
	case needs < 0:
		return errDemand
	}
	r.lastReceived = now
	switch {
	case n.Flags&cc.FlagEnd != 0:
		r.running = false
	case needs > 0 && !r.running:
		r.startCredits(needs, now)
	}
	return nil
}

// startCredits starts sending credits, more slowly for a flow of few packets.
func (r *CreditReceiver) startCredits(needs units.Bytes, now units.Time) {
	packets := (needs + r.unit - 1) / r.unit
	f := &r.rate
	f.cur = f.max
	if r.adapts {
		f.cur *= r.initial * min(1, float64(packets)/fullRatePackets)
	}
	f.w, f.canIncrease, f.last, f.total, f.dropped = r.wInit, false, now, 0, 0
	r.running, r.nextAt, r.lastReceived = true, now, now
	r.expected = r.newest + 1
}

// Next implements cc.Granter.
func (r *CreditReceiver) Next() units.Time {
	if !r.running {
		return 0
	}
	return nonZero(r.nextAt)
}

// Emit implements cc.Granter.
func (r *CreditReceiver) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	switch {
	case !r.running || r.nextAt.After(now):
		return cc.ControlMessage{}, false
	case now.Sub(r.lastReceived) > senderTimeout:
		r.running = false
		return cc.ControlMessage{}, false
	}
	if r.adapts {
		r.rate.update(r.srtt, now)
	}
	r.newest++
	r.sentAt[r.newest%maxTimedCredits] = now
	gap := r.rate.credit / r.rate.cur * (1 + r.jitter*r.rng.Symmetric())
	if r.nextAt = r.nextAt.Add(units.Duration(gap * float64(units.Second))); r.nextAt.Before(now) {
		r.nextAt = now
	}
	r.stats.Granted += r.k
	r.stats.Wire += r.kw
	r.stats.Messages++
	n := cc.ControlMessage{Kind: cc.TOKEN, Flags: cc.FlagSingle, Limit: uint32(r.k), Seq: r.newest,
		TrafficClass: r.tokenClass, Classed: true, Missing: incomplete}
	n.Releases = r.spacing(r.kw)
	return n, true
}

// Rank implements cc.Granter.
func (r *CreditReceiver) Rank() int { return r.priority }

// QueueCapacity implements cc.Granter. Credits wait in the endpoint's queue and are dropped when it
// is full, as in a switch.
func (r *CreditReceiver) QueueCapacity() int { return r.queue }

// Algorithm implements cc.Granter. The feedback is part of the CreditReceiver.
func (*CreditReceiver) Algorithm() cc.Algorithm { return nil }

// Attach implements cc.Granter.
func (*CreditReceiver) Attach(cc.Reporter) {}

// Apply implements cc.Granter.
func (*CreditReceiver) Apply(cc.Decision, units.Time) {}
