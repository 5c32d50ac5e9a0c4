package prioplus

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/units"
)

// The replay of the published controller's log (fig10c's set-up in the catalogue). Its delays are
// one-way; a reply takes 6009 ns. Between the rows other acknowledgements changed the window, so
// that a row begins with the window of the log.
const (
	replayPacket = 1054 // bytes
	replayReply  = 6009 * units.Nanosecond
)

// replay is the flow of the log.
type replay struct {
	*prioplus.PrioPlus
	now       units.Time
	una, sent uint32
}

// replayRows returns how many of the six rows agree within a byte.
func replayRows() (int, error) {
	r, err := newReplay()
	if err != nil {
		return 0, err
	}
	var rows []bool
	check := func(want ...float64) {
		ok := true
		for i := 0; i < len(want); i += 2 {
			ok = ok && math.Abs(want[i]-want[i+1]) <= 1
		}
		rows = append(rows, ok)
	}
	r.probe(6010)
	check(r.window(), 19028)
	r.ack(7113, 19) // beyond the first window: a round trip ends
	check(r.window(), 38056)
	// The log has whole bytes: 4.90 more are 4.
	before := r.window()
	r.ack(7281, 0)
	check(r.window()-before, 4.90496)
	r.set(38204)
	r.ack(14481, 0)
	check(r.window(), 37543)
	r.now = r.now.Add(units.Millisecond)
	r.set(37543)
	r.ack(16700, 0) // the first sample beyond D_limit
	r.set(37543)
	r.ack(16756, 0)
	stopped := r.Snapshot().Channel
	check(float64(stopped.State), float64(cc.Stopped), stopped.Flows, 4)
	r.probe(6010)
	first := r.window()
	r.ack(6100, 100)
	check(first, 4757, r.window(), 9514)
	agree := 0
	for _, ok := range rows {
		if ok {
			agree++
		}
	}
	return agree, nil
}

func newReplay() (*replay, error) {
	// There D_target and D_limit are a nanosecond less and more, because of rounding.
	channels, err := prioplus.ParseChannels(
		"n=8,high=0,low=1,direct=0,w_low=19028B,a=3199500ps,limit=2401ns" + artifactRules)
	if err != nil {
		return nil, err
	}
	inner, err := cc.Parse("swift:ai=182B")
	if err != nil {
		return nil, err
	}
	a, err := prioplus.Spec{Inner: inner, Channels: channels, Priority: 1}.New(cc.Path{
		LineRate: rate, BaseRTT: 12178 * units.Nanosecond, Payload: replayPacket, Hops: 1,
		Signals: cc.SignalDelay})
	if err != nil {
		return nil, err
	}
	r := &replay{PrioPlus: a.(*prioplus.PrioPlus), now: units.Time(units.Second)}
	r.Start(r.now)
	r.On(&cc.Event{Kind: cc.POST, Left: units.GiB}, r.now)
	return r, nil
}

func (r *replay) window() float64 { return replayPacket * float64(r.Inner().Cwnd()) }

func (r *replay) set(bytes float64) { r.Inner().SetCwnd(cc.Packets(bytes / replayPacket)) }

// probe is the echo of a probe.
func (r *replay) probe(oneWay int) {
	r.event(cc.Event{Kind: cc.RTT, Probe: true,
		Delay: units.Duration(oneWay)*units.Nanosecond + replayReply - r.probeSaving()})
}

// probeSaving is how much shorter a probe's round trip is than a packet's, which is added to its
// delay.
func (r *replay) probeSaving() units.Duration { return 2 * rate.Duration(replayPacket) }

// ack acknowledges a packet, and a number more that need no sample.
func (r *replay) ack(oneWay int, more uint32) {
	r.una += 1 + more
	r.sent = r.una + 19
	r.event(cc.Event{Kind: cc.RTT, Packets: 1, Bytes: replayPacket, PSN: r.una,
		Delay: units.Duration(oneWay)*units.Nanosecond + replayReply})
}

func (r *replay) event(ev cc.Event) {
	ev.SndNxt, ev.Left = r.sent, units.GiB
	r.now = r.now.Add(units.Microsecond)
	r.On(&ev, r.now)
}
