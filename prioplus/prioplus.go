package prioplus

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// PrioPlus is one flow with a virtual priority: Algorithm 1 of the paper around its original CC.
// Names are the paper's. Where the listing and the text of section 4 differ it follows the text:
// docs/prioplus.md has the list.
type PrioPlus struct {
	inner cc.Steerable // the original CC: its window is cwnd, its additive increase W_AI
	*constants
	flow
	back *wayBack // nil: round trips
}

// constants are those of a channel on a path. Where the base round trip is measured they move with
// it.
type constants struct {
	Channel
	path       cc.Path
	settings   options
	hears      cc.EventSet    // what the original CC binds
	waiOrigin  cc.Packets     // W_AIorigin
	rtts       uint16         // of linear start until the path is full: BaseBdp/W_LS
	perPicosec float64        // packets that line rate carries in a picosecond
	shorter    units.Duration // what a probe takes less than a full packet
	base       *cc.BaseRTT    // nil: it is what the path says
}

// flow is the state of one flow beyond that of the original CC.
type flow struct {
	probeAt   units.Time     // of the one probe timer; 0 when it is not armed
	idleSince units.Time     // when the last byte was acknowledged, while idle
	delay     units.Duration // newest sample, of data or of a probe
	rttEndSeq uint32         // PSN whose acknowledgement ends a round trip
	lots      cc.Lots
	nflow     float32 // #flow
	countDown uint16  // RTTs at base RTT until #flow is halved
	// smoothed, in roomGrains: what of a round trip passes in hosts, beside the channel
	room   uint16
	consec uint8 // samples beyond D_limit in a row
	young  uint8 // round trips until cwnd is a share

	stopped     bool
	starting    bool // linearly
	dualRttPass bool
	idle        bool // nothing to send
	counted     bool // the transport fills Left
}

const (
	// maxFlows bounds #flow, as the artifact does.
	maxFlows = 2000
	// floor is the window at which a flow stops rather than send ever less (the artifact).
	floor cc.Packets = 0.1
	// restart is after how many base round trips without anything to send a flow begins anew: what
	// it knew of the queue is old then. OURS.
	restart = 4
)

// Events implements cc.Algorithm.
func (p *PrioPlus) Events() cc.EventSet {
	return p.hears | cc.Events(cc.ACK, cc.ECN, cc.RTT, cc.RTO, cc.POST)
}

// Rank implements cc.Ranked.
func (p *PrioPlus) Rank() int { return p.Priority }

// Start implements cc.Starter. A flow begins when something is posted on it.
func (p *PrioPlus) Start(now units.Time) cc.Decision {
	p.idleSince = now.Add(-restart * p.path.BaseRTT) // it has had nothing to send for ever
	return p.decide()
}

// On implements cc.Algorithm.
func (p *PrioPlus) On(ev *cc.Event, now units.Time) cc.Decision {
	if p.back != nil {
		ev = p.back.without(ev, now)
	}
	if !p.hear(ev, now) {
		return p.decide()
	}
	before := p.inner.Cwnd()
	d := p.inner.On(ev, now) // line 22
	if cwnd := p.inner.Cwnd(); cwnd < before && cwnd <= floor && !p.stopped {
		p.yield(max(p.delay, p.Target), now)
	}
	if p.stopped || p.starting {
		return p.decide()
	}
	return d
}

// hear is what comes before the original CC, and whether that hears of it, too.
func (p *PrioPlus) hear(ev *cc.Event, now units.Time) bool {
	if p.base != nil {
		p.measure(ev, now)
	}
	if ev.Probe {
		p.onProbe(ev, now)
		return false
	}
	if ev.Kind == cc.POST || ev.Left > 0 && p.idle {
		p.onPost(ev, now)
	}
	if ev.Kind != cc.RTT && ev.Kind != cc.ACK && ev.Kind != cc.ECN {
		return p.hears.Has(ev.Kind)
	}
	p.rest(ev, now)
	// Acknowledgements of what was sent before the flow stopped say nothing new.
	return !p.stopped && p.newAck(ev, now)
}

// newAck is Algorithm 1, lines 1 to 21; false is that it returned.
func (p *PrioPlus) newAck(ev *cc.Event, now units.Time) bool {
	delay, ok := ev.FabricNear(p.path.BaseRTT)
	if !ok || ev.Packets <= 0 {
		return p.hears.Has(ev.Kind)
	}
	p.addRoom(ev, delay)
	p.delay = delay
	rttPass := ev.Acknowledges(p.rttEndSeq)
	if rttPass {
		p.rttEndSeq = ev.SndNxt & 0xffffff
		p.dualRttPass = !p.dualRttPass
		p.young -= min(p.young, 1)
		if !p.dualRttPass || !p.settings.dual {
			p.setWAI() // end of the adaptive increase (4.2.3)
		}
	}
	if delay >= p.Limit {
		if p.consec++; p.consec >= p.settings.filter {
			p.estimate(delay)
			p.yield(delay, now)
			return false
		}
	} else {
		p.consec = 0 // on every sample, or two far apart would count as consecutive
	}
	if rttPass && delay <= p.Target {
		p.increase(delay)
	} else if rttPass {
		p.starting = false
	}
	return true
}

// addRoom has the window cover what passes in hosts beside the channel's bytes in the fabric, where
// ports without time stamps keep packets until they are polled. OURS: the paper's delays are of
// NICs' time stamps.
func (p *PrioPlus) addRoom(ev *cc.Event, delay units.Duration) {
	if ev.LocalGap == 0 && ev.RemoteGap == 0 && p.room == 0 {
		return
	}
	hosts := max(0, ev.Delay-delay-ev.LocalAway-ev.RemoteAway)
	before := p.room
	p.room = uint16((7*int64(p.room) + min(int64(hosts/roomGrain), math.MaxUint16)) / 8)
	if p.room/roomStep != before/roomStep {
		p.inner.Steer(p.Target, least, p.most())
	}
}

const (
	roomGrain = 100 * units.Nanosecond
	roomStep  = 64 // grains by which the room must change for the window to follow
)

// most is the largest window: BaseBdp and the channel's bytes (the artifact), and what waits in
// hosts.
func (p *PrioPlus) most() cc.Packets {
	return cc.Packets(p.perPicosec * float64(p.Target+units.Duration(p.room)*roomGrain))
}

// estimate is delay-based flow cardinality estimation (4.3.1): what is in flight, by the cwnd of
// one.
func (p *PrioPlus) estimate(delay units.Duration) {
	if p.young == 0 { // or cwnd is no share of it
		inflight := float64(delay) * p.perPicosec
		p.nflow = float32(min(maxFlows, max(float64(p.nflow), inflight/float64(p.inner.Cwnd()))))
	}
	p.setWAI()
	p.countDown = p.rtts
}

func (p *PrioPlus) setWAI() { p.inner.SetAI(p.waiOrigin/cc.Packets(p.nflow), 0) }

// increase is what a round trip that ends at or below D_target brings.
func (p *PrioPlus) increase(delay units.Duration) {
	cwnd := p.inner.Cwnd()
	p.starting = p.atBase(delay)
	switch {
	case p.starting: // linear start (4.2.2)
		p.inner.SetCwnd(cwnd + p.step())
		p.countDownFlows()
	case p.dualRttPass || !p.settings.dual: // start of the dual-RTT adaptive increase (4.2.3)
		step := cc.Packets(float64(p.Target-delay)/float64(delay)) * cwnd
		p.inner.SetAI(p.inner.AI(), min(cwnd/2, step))
	}
}

// atBase says whether a delay is that of empty queues: "== BaseRtt" within what clocks and hosts
// add.
func (p *PrioPlus) atBase(delay units.Duration) bool {
	return delay < p.path.BaseRTT+p.settings.eps
}

// countDownFlows halves #flow when queues stay empty for longer than so many flows would leave
// them.
func (p *PrioPlus) countDownFlows() {
	if p.countDown > 0 {
		p.countDown--
		return
	}
	p.nflow = max(1, p.nflow/2)
}

// yield stops sending and schedules a probe.
func (p *PrioPlus) yield(delay units.Duration, now units.Time) {
	p.inner.Yield(now)
	p.stop()
	p.scheduleProbe(delay, now)
}

// stop keeps cwnd, which nothing uses until resume replaces it.
func (p *PrioPlus) stop() {
	p.stopped, p.starting, p.dualRttPass, p.consec = true, false, false, 0
}

// scheduleProbe is probing with collision avoidance (4.2.1): no sooner than the queue can drain to
// D_target, and not all at once.
func (p *PrioPlus) scheduleProbe(delay units.Duration, now units.Time) {
	if p.idle {
		return // there is nothing to probe for
	}
	at := now.Add(max(0, delay-p.Target) + p.lots.Below(p.path.BaseRTT))
	for at == 0 || at == p.probeAt { // none, and the one before
		at = at.Add(1)
	}
	p.probeAt = at
}

// onProbe is an echo, or that there was none in time.
func (p *PrioPlus) onProbe(ev *cc.Event, now units.Time) {
	if p.probeAt == 0 {
		return // it is late, and nobody waits for it any more
	}
	delay, ok := ev.FabricNear(p.path.BaseRTT - p.shorter)
	switch {
	case ok:
		p.newProbeAck(delay+p.shorter, ev, now)
	case ev.Kind == cc.RTO || ev.Kind == cc.RTT: // lost, or of no use
		p.scheduleProbe(p.Target, now)
	}
}

// newProbeAck is Algorithm 1, lines 28 to 38.
func (p *PrioPlus) newProbeAck(delay units.Duration, ev *cc.Event, now units.Time) {
	p.delay = delay
	switch {
	case delay >= p.Limit:
		p.scheduleProbe(delay, now)
	case p.atBase(delay):
		p.resume(p.linear(), delay, ev)
		p.starting = true
		p.countDownFlows()
	default:
		p.resume(p.cautious(delay), delay, ev)
		p.young = uint8(p.settings.patience)
	}
}

// linear is the window that a linear start begins with.
func (p *PrioPlus) linear() cc.Packets { return max(p.step(), p.settings.least) }

// step is the flow's part of W_LS, which is a part of what a round trip without a queue carries: in
// hosts, too.
func (p *PrioPlus) step() cc.Packets {
	w := p.WLS
	if p.room > 0 {
		w *= 1 + cc.Packets(p.room)*cc.Packets(roomGrain)/cc.Packets(p.path.BaseRTT)
	}
	return w / cc.Packets(p.nflow)
}

// cautious is the window to resume with while others send: a packet, for it is one sample (4.4).
// With room it is the flow's part of what is missing to D_target.
func (p *PrioPlus) cautious(delay units.Duration) cc.Packets {
	if !p.settings.room {
		return 1
	}
	missing := cc.Packets(float64(p.Target-delay) * p.perPicosec)
	return max(1, min(missing, p.WLS)/cc.Packets(p.nflow))
}

// resume sends again. The first round trip ends with the first packet after the first window, so
// that whatever ended one is of the new windows.
func (p *PrioPlus) resume(cwnd cc.Packets, delay units.Duration, ev *cc.Event) {
	p.stop()
	p.stopped, p.probeAt, p.young = false, 0, 0
	p.setWAI()
	p.inner.Resume(cwnd, delay)
	p.rttEndSeq = (ev.SndNxt + uint32(math.Ceil(float64(cwnd)))) & 0xffffff
}

// onPost begins a flow, or goes on with one that was idle for a moment.
func (p *PrioPlus) onPost(ev *cc.Event, now units.Time) {
	resting := p.stopped && p.probeAt == 0
	long := p.idle && now.Sub(p.idleSince) >= restart*p.path.BaseRTT
	p.idle = false
	p.counted = p.counted || ev.Left > 0
	switch {
	case long && p.Direct: // linear start without a probe (4.4)
		p.delay = p.path.BaseRTT
		p.resume(p.linear(), p.delay, ev)
		p.starting = true
	case long || resting:
		p.stop()
		p.scheduleProbe(p.Target, now)
	}
}

// rest notices when there is nothing left to send: nothing to probe for, either. A transport that
// never said how much is left does not say it by 0.
func (p *PrioPlus) rest(ev *cc.Event, now units.Time) {
	switch {
	case ev.Left > 0:
		p.counted = true
	case p.counted && !p.idle:
		p.idle, p.idleSince, p.probeAt = true, now, 0
	}
}

func (p *PrioPlus) decide() cc.Decision {
	if p.stopped {
		return cc.Decision{ProbeAt: p.probeAt}
	}
	d := p.inner.Decide()
	if p.starting && d.Rate == 0 { // many may start at once: none with a burst
		d.Rate = p.pace(d.Window)
	}
	return d
}

// pace is the rate that sends a window in a round trip; none where that is a line rate that is a
// guess.
func (p *PrioPlus) pace(window units.Bytes) units.BitRate {
	rate := float64(window) * 8 * float64(units.Second) / float64(p.delay)
	if p.path.Guessed && rate >= float64(p.path.LineRate) {
		return 0
	}
	return units.BitRate(min(max(rate, 1), float64(p.path.LineRate)))
}

// Snapshot implements cc.Observable.
func (p *PrioPlus) Snapshot() cc.Snapshot {
	s, d := p.inner.Snapshot(), p.decide()
	s.Window, s.Rate, s.Delay = d.Window, d.Rate, p.delay
	s.Channel = cc.Channel{Priority: p.Priority, Limit: p.Limit, State: p.state(),
		Flows: float64(p.nflow)}
	return s
}

func (p *PrioPlus) state() cc.ChannelState {
	switch {
	case p.idle || p.stopped && p.probeAt == 0:
		return cc.Resting
	case p.stopped:
		return cc.Stopped
	case p.starting:
		return cc.Starting
	}
	return cc.Sending
}
