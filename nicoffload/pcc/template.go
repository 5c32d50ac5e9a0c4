package pcc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// One is line rate in DOCA PCC's fixed point.
const One = 1 << 20

// Params are those of the RTT template; the zero value of each is the template's.
type Params struct {
	BaseRTT  units.Duration // below, the rate grows; 13 µs
	MaxDelay units.Duration // from there on, it is cut twice; 150 µs
	Abort    units.Duration // a probe that is not answered by then is asked for again; 300 µs
	Cut      uint32         // u, 65536ths; 6553
	AI       uint32         // added below BaseRTT, of One; 52428
	NewFlow  uint32         // the first rate, of One; One
	Min      uint32         // least rate, of One; 64
}

// The template's parameters. It says 10 % for the cut; a comment in it says 0.08.
var defaults = Params{
	BaseRTT: 13 * units.Microsecond, MaxDelay: 150 * units.Microsecond,
	Abort: 300 * units.Microsecond,
	Cut:   6553, AI: 52428, NewFlow: One, Min: 64,
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (p Params) filled() Params {
	d := defaults
	return Params{or(p.BaseRTT, d.BaseRTT), or(p.MaxDelay, d.MaxDelay), or(p.Abort, d.Abort),
		or(p.Cut, d.Cut), or(p.AI, d.AI), or(p.NewFlow, d.NewFlow), or(p.Min, d.Min)}
}

// Validate says what is wrong with the parameters.
func (p Params) Validate() error {
	p = p.filled()
	switch {
	case p.BaseRTT < 0 || p.MaxDelay < p.BaseRTT || p.Abort < 0:
		return fmt.Errorf("pcc: a base round trip of %v, %v at most, aborted after %v", p.BaseRTT,
			p.MaxDelay, p.Abort)
	case p.Cut > 65536/5:
		return fmt.Errorf("pcc: a cut of %d/65536: five of them are more than all", p.Cut)
	case p.Min > One || p.NewFlow > One || p.NewFlow < p.Min || p.AI > One:
		return fmt.Errorf("pcc: rates from %d, first %d, %d added, of %d", p.Min, p.NewFlow, p.AI,
			One)
	}
	return nil
}

// Spec is the template with parameters: a cc.Control.
type Spec struct{ Params }

// New implements cc.Control.
func (s Spec) New(path cc.Path) (cc.Algorithm, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if path.BDP() <= 0 {
		return nil, fmt.Errorf("pcc: a path needs its line rate and its base round trip, and %v "+
			"and %v are none", path.LineRate, path.BaseRTT)
	}
	p := s.filled()
	return &Template{Params: p, line: path.LineRate, rate: p.NewFlow, window: 16 * path.BDP()}, nil
}

// Name implements cc.Control.
func (Spec) Name() string { return "doca-pcc" }

func (s Spec) String() string {
	p := s.filled()
	return fmt.Sprintf("doca-pcc:base_rtt=%v,max_delay=%v", p.BaseRTT, p.MaxDelay)
}

// Template is the RTT template of DOCA PCC. One probe is under way at a time, and only its round
// trip moves the rate; a CNP or a NACK is remembered until then.
type Template struct {
	Params
	line units.BitRate
	rate uint32 // cur_rate, of One

	window units.Bytes // the NIC has none: as much as TIMELY and DCQCN have here

	cnp, nack bool
	meas      bool // a probe is under way
	abort     uint // times in a row that it did not come back
	start     units.Time
	ask       units.Time // the probe that is asked for
	snapshot  cc.Snapshot
}

// Events implements cc.Algorithm.
func (*Template) Events() cc.EventSet { return cc.Events(cc.CNP, cc.OOO, cc.TX, cc.RTT) }

// Start implements cc.Starter.
func (t *Template) Start(now units.Time) cc.Decision {
	t.request(now)
	return t.decide()
}

// On implements cc.Algorithm.
func (t *Template) On(ev *cc.Event, now units.Time) cc.Decision {
	switch ev.Kind {
	case cc.CNP:
		t.cnp = true
	case cc.OOO:
		t.nack = true
	case cc.TX:
		t.onTx(now)
	case cc.RTT:
		if ev.Probe {
			t.onRTT(ev.Delay, now)
		}
	}
	return t.decide()
}

// onTx asks for another probe when the one under way takes too long: twice as long after each.
func (t *Template) onTx(now units.Time) {
	if t.meas && now.Sub(t.start) > t.Abort<<min(t.abort, 16) {
		t.abort++
		t.request(now)
	}
}

// request asks for a probe. Here it leaves at once, with DOCA PCC beside the next burst, so that
// there is no time between asking and its being on the wire.
func (t *Template) request(now units.Time) {
	t.meas, t.start = true, now
	if t.ask = now; t.ask == 0 { // which would be none
		t.ask = 1
	}
}

func (t *Template) onRTT(rtt units.Duration, now units.Time) {
	if !t.meas || rtt <= 0 {
		t.snapshot.Ignored++
		return // stale
	}
	t.meas, t.abort = false, 0
	t.snapshot.Delay = rtt
	before := t.rate
	why := cc.CutDelay
	switch {
	case t.nack && rtt >= t.MaxDelay:
		t.rate, t.nack, why = t.cut(5), false, cc.CutLoss
	case t.cnp || rtt >= t.MaxDelay:
		if t.cnp {
			why = cc.CutCNP
		}
		t.rate, t.cnp = t.cut(2), false
	case rtt > t.BaseRTT:
		t.rate = t.cut(1)
	default:
		t.rate += t.AI
	}
	if t.rate = min(max(t.rate, t.Min), One); t.rate < before {
		t.snapshot.Reason, t.snapshot.CutAt = why, now
		t.snapshot.Cuts[why]++
	}
	t.request(now)
}

// cut takes so many times u from the rate.
func (t *Template) cut(times uint32) uint32 {
	return uint32(uint64(t.rate) * uint64(65536-times*t.Cut) >> 16)
}

func (t *Template) decide() cc.Decision {
	return cc.Decision{Window: t.window, Rate: RateOf(t.rate, t.line), ProbeAt: t.ask}
}

// Snapshot implements cc.Observable.
func (t *Template) Snapshot() cc.Snapshot {
	s := t.snapshot
	s.Target, s.Window, s.Rate = t.BaseRTT, t.window, RateOf(t.rate, t.line)
	return s
}

// RateOf is a rate of DOCA PCC's fixed point on a line.
func RateOf(r uint32, line units.BitRate) units.BitRate {
	return max(1, units.BitRate(uint64(r)*uint64(line)>>20))
}

// Quantised is a rate in whole units of 2^-20 of the line, rounded down but never to none.
func Quantised(r, line units.BitRate) units.BitRate {
	if r <= 0 || line <= 0 {
		return r
	}
	n := uint64(float64(r) / float64(line) * One)
	return RateOf(uint32(min(max(n, 1), One)), line)
}
