package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// CreditReceiver is the receiver's half of credits (ExpressPass): it sends them at a rate from
// request to stop, and adapts the rate to how many are lost on the way.
type CreditReceiver struct {
	*plan
	rate    feedback
	adapts  bool // cc=feedback
	running bool
	at      units.Time // when the next credit goes
	heard   units.Time
	srtt    units.Duration
	number  uint16       // of the newest credit
	expect  uint16       // of the next data
	sent    []units.Time // when credits left, by number
	rng     cc.RNG
	tally   Tally
}

const (
	// fullStart is how many packets make a flow begin at its full first rate (the model of
	// ExpressPass).
	fullStart = 40
	// stopTimeout ends a flow whose sender is silent (the same).
	stopTimeout = 2 * units.Millisecond
	// timed is how many credits are remembered: more than a round trip has, a power of two.
	timed = 256
)

func newCreditReceiver(p *plan) *CreditReceiver {
	share := Limiter(TokenWire, p.kw)
	line := float64(p.path.LineRate) / 8 * share
	r := &CreditReceiver{plan: p, adapts: p.cc == "feedback", srtt: p.path.BaseRTT,
		sent: make([]units.Time, timed), rng: cc.NewRNG(p.path.Seed)}
	r.rate = feedback{paper: p.feedback == "paper", target: p.loss, wMin: p.wMin, wMax: p.wMax,
		max: line, credit: float64(TokenWire)}
	return r
}

// Tally answers the counters.
func (r *CreditReceiver) Tally() Tally { return r.tally }

// Rate is that of credits, as a share of the most that a link takes.
func (r *CreditReceiver) Rate() float64 { return r.rate.cur / r.rate.max }

// Arrived implements cc.Granter.
func (r *CreditReceiver) Arrived(a *cc.Arrival, now units.Time) {
	r.heard = now
	if a.Set&cc.MarkUnscheduled != 0 {
		r.tally.Unscheduled += a.Bytes
	}
	// no credit let it leave, though its packet has the place to say so
	if a.Set&cc.MarkGrant == 0 || a.Set&cc.MarkUnscheduled != 0 {
		return
	}
	skipped := int16(a.Grant - r.expect)
	if skipped < 0 || int16(a.Grant-r.number) > 0 { // late or doubled, or never sent
		return
	}
	r.rate.counted(int(skipped)+1, int(skipped))
	r.tally.Lost += uint64(skipped)
	r.expect = a.Grant + 1
	if r.number-a.Grant < timed {
		if sample := now.Sub(r.sent[a.Grant%timed]); sample > 0 {
			r.srtt += (sample - r.srtt) / 5
		}
	}
}

// Missing implements cc.Granter: what was lost needs credits, and a TOKEN says what it is.
func (r *CreditReceiver) Missing(_ int, bytes units.Bytes, now units.Time) {
	if !r.running {
		r.begin(bytes, now)
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
	r.heard = now
	switch {
	case n.Flags&cc.FlagEnd != 0:
		r.running = false
	case needs > 0 && !r.running:
		r.begin(needs, now)
	}
	return nil
}

// begin starts credits, fewer for a flow of few packets.
func (r *CreditReceiver) begin(needs units.Bytes, now units.Time) {
	packets := (needs + r.unit - 1) / r.unit
	f := &r.rate
	f.cur = f.max
	if r.adapts {
		f.cur *= r.initial * min(1, float64(packets)/fullStart)
	}
	f.w, f.canIncrease, f.last, f.total, f.dropped = r.wInit, false, now, 0, 0
	r.running, r.at, r.heard = true, now, now
	r.expect = r.number + 1
}

// Next implements cc.Granter.
func (r *CreditReceiver) Next() units.Time {
	if !r.running {
		return 0
	}
	return moment(r.at)
}

// Emit implements cc.Granter.
func (r *CreditReceiver) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	switch {
	case !r.running || r.at.After(now):
		return cc.ControlMessage{}, false
	case now.Sub(r.heard) > stopTimeout:
		r.running = false
		return cc.ControlMessage{}, false
	}
	if r.adapts {
		r.rate.update(r.srtt, now)
	}
	r.number++
	r.sent[r.number%timed] = now
	gap := r.rate.credit / r.rate.cur * (1 + r.jitter*r.rng.Symmetric())
	if r.at = r.at.Add(units.Duration(gap * float64(units.Second))); r.at.Before(now) {
		r.at = now
	}
	r.tally.Granted += r.k
	r.tally.Wire += r.kw
	r.tally.Notices++
	n := cc.ControlMessage{Kind: cc.TOKEN, Flags: cc.FlagSingle, Limit: uint32(r.k), Seq: r.number,
		TrafficClass: r.tokenClass, Classed: true, Missing: incomplete}
	n.Releases = r.spacing(r.kw)
	return n, true
}

// Rank implements cc.Granter.
func (r *CreditReceiver) Rank() int { return r.priority }

// Queue implements cc.Granter: credits wait for their time, and are dropped, as in a switch.
func (r *CreditReceiver) Queue() int { return r.queue }

// Algorithm implements cc.Granter: feedback is its own.
func (*CreditReceiver) Algorithm() cc.Algorithm { return nil }

// Attach implements cc.Granter.
func (*CreditReceiver) Attach(cc.Reporter) {}

// Apply implements cc.Granter.
func (*CreditReceiver) Apply(cc.Decision, units.Time) {}
