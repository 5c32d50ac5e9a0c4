package pcc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// One is the line rate in DOCA PCC's fixed point.
const One = 1 << 20

// Params are the parameters of the RTT template; a zero value means the template's default.
type Params struct {
	BaseRTT  units.Duration // up to this round trip, the rate grows; 13 µs
	MaxDelay units.Duration // from this round trip on, it is cut twice; 150 µs
	Abort    units.Duration // an unanswered probe is requested again after this time; 300 µs
	Cut      uint32         // u, in units of 1/65536; 6553
	AI       uint32         // added up to BaseRTT, in units of 1/One; 52428
	NewFlow  uint32         // initial rate, in units of 1/One; One
	Min      uint32         // minimum rate, in units of 1/One; 64
}

// The parameters of the template. It sets 10 % for the cut; a comment in it states 0.08.
var defaults = Params{
	BaseRTT: 13 * units.Microsecond, MaxDelay: 150 * units.Microsecond,
	Abort: 300 * units.Microsecond,
	Cut:   6553, AI: 52428, NewFlow: One, Min: 64,
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (p Params) filled() Params {
	d := defaults
	return Params{
		BaseRTT:  orDefault(p.BaseRTT, d.BaseRTT),
		MaxDelay: orDefault(p.MaxDelay, d.MaxDelay),
		Abort:    orDefault(p.Abort, d.Abort),
		Cut:      orDefault(p.Cut, d.Cut),
		AI:       orDefault(p.AI, d.AI),
		NewFlow:  orDefault(p.NewFlow, d.NewFlow),
		Min:      orDefault(p.Min, d.Min),
	}
}

// Validate returns an error that describes what is wrong with the parameters, or nil.
func (p Params) Validate() error {
	p = p.filled()
	switch {
	case p.BaseRTT < 0 || p.MaxDelay < p.BaseRTT || p.Abort < 0:
		return fmt.Errorf("pcc: base round-trip time %v, maximum %v, abort time %v: want none "+
			"negative, and a maximum of at least the base", p.BaseRTT, p.MaxDelay, p.Abort)
	case p.Cut > 65536/5:
		return fmt.Errorf("pcc: cut %d/65536, want at most a fifth", p.Cut)
	case p.Min > One || p.NewFlow > One || p.NewFlow < p.Min || p.AI > One:
		return fmt.Errorf("pcc: rates in units of 1/%d: minimum %d, initial %d, increase %d: want "+
			"each at most %[1]d, and an initial rate of at least the minimum", One, p.Min,
			p.NewFlow, p.AI)
	}
	return nil
}

// Spec is the template with parameters, a cc.Factory.
type Spec struct{ Params }

// New implements cc.Factory.
func (s Spec) New(path cc.Path) (cc.Algorithm, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if path.BDP() <= 0 {
		return nil, fmt.Errorf("pcc: path with line rate %v and base round-trip time %v, want "+
			"both positive", path.LineRate, path.BaseRTT)
	}
	p := s.filled()
	return &Template{Params: p, line: path.LineRate, rate: p.NewFlow, window: 16 * path.BDP()}, nil
}

// Name implements cc.Factory.
func (Spec) Name() string { return "doca-pcc" }

func (s Spec) String() string {
	p := s.filled()
	return fmt.Sprintf("doca-pcc:base_rtt=%v,max_delay=%v", p.BaseRTT, p.MaxDelay)
}

// Template is the RTT template of DOCA PCC. One probe is outstanding at a time, and only its round
// trip changes the rate; a CNP or a NACK is kept until then.
type Template struct {
	Params
	line units.BitRate
	rate uint32 // cur_rate, of One

	window units.Bytes // the NIC has no window; this one is as large as that of TIMELY and DCQCN

	cnp, nack bool
	probing   bool // a probe is outstanding
	abort     uint // consecutive probes without a response
	start     units.Time
	probeAt   units.Time // the requested probe
	snapshot  cc.Snapshot
}

// Events implements cc.Algorithm.
func (*Template) Events() cc.EventSet { return cc.Events(cc.CNP, cc.OOO, cc.TX, cc.RTT) }

// Start implements cc.Starter.
func (t *Template) Start(now units.Time) cc.Decision {
	t.requestProbe(now)
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

// onTx requests another probe when the outstanding one takes too long; the limit doubles each time.
func (t *Template) onTx(now units.Time) {
	if t.probing && now.Sub(t.start) > t.Abort<<min(t.abort, 16) {
		t.abort++
		t.requestProbe(now)
	}
}

// requestProbe requests a probe. Here it leaves at once, with DOCA PCC beside the next burst; so
// the time of the request is the time of transmission.
func (t *Template) requestProbe(now units.Time) {
	t.probing, t.start = true, now
	if t.probeAt = now; t.probeAt == 0 { // 0 means no probe
		t.probeAt = 1
	}
}

func (t *Template) onRTT(rtt units.Duration, now units.Time) {
	if !t.probing || rtt <= 0 {
		t.snapshot.Ignored++
		return // a stale response
	}
	t.probing, t.abort = false, 0
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
	t.requestProbe(now)
}

// cut returns the rate reduced by a multiple of u.
func (t *Template) cut(times uint32) uint32 {
	return uint32(uint64(t.rate) * uint64(65536-times*t.Cut) >> 16)
}

func (t *Template) decide() cc.Decision {
	return cc.Decision{Window: t.window, Rate: RateOf(t.rate, t.line), ProbeAt: t.probeAt}
}

// Snapshot implements cc.Observable.
func (t *Template) Snapshot() cc.Snapshot {
	s := t.snapshot
	s.Target, s.Window, s.Rate = t.BaseRTT, t.window, RateOf(t.rate, t.line)
	return s
}

// RateOf converts a rate in DOCA PCC's fixed point.
func RateOf(r uint32, line units.BitRate) units.BitRate {
	return max(1, units.BitRate(uint64(r)*uint64(line)>>20))
}

// Quantised returns a rate in whole units of 2^-20 of the line rate, rounded down, but at least one
// unit.
func Quantised(r, line units.BitRate) units.BitRate {
	if r <= 0 || line <= 0 {
		return r
	}
	n := uint64(float64(r) / float64(line) * One)
	return RateOf(uint32(min(max(n, 1), One)), line)
}
