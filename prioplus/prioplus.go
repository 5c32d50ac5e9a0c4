package prioplus

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// PrioPlus is one flow with a virtual priority: Algorithm 1 of the paper around its original CC.
// Names are the paper's. Where the listing and the text of section 4 differ, it follows the text:
// docs/prioplus.md lists the differences.
type PrioPlus struct {
	inner cc.Steerable // the original CC: its window is cwnd, its additive increase W_AI
	*constants
	flow
	reverse *reverseDelay // nil: delays are round trips
}

// constants belong to a channel on a path. They move with the base round trip where it is measured.
type constants struct {
	Channel
	path        cc.Path
	settings    options
	innerEvents cc.EventSet    // event binding of the original CC
	waiOrigin   cc.Packets     // W_AIorigin
	rtts        uint16         // round trips of linear start until the path is full: BaseBdp/W_LS
	perPicosec  float64        // packets that line rate carries in a picosecond
	probeSaving units.Duration // how much shorter a probe's round trip is than a full packet's
	base        *cc.BaseRTT    // nil: the base round trip is not measured
	back        units.Duration // time of a reply, which cuts do not count; 0 unless artifact
}

// flow is the state of one flow in addition to that of the original CC.
type flow struct {
	probeAt   units.Time     // expiry of the only probe timer; 0: not armed
	idleSince units.Time     // when the last byte was acknowledged, while idle
	delay     units.Duration // newest sample, of data or of a probe
	rttEndSeq uint32         // PSN whose acknowledgement ends a round trip
	rng       cc.RNG
	nflow     float32 // #flow
	countDown uint16  // RTTs at base RTT until #flow is halved
	// smoothed part of a round trip in hosts, in addition to the channel, in units of roomGrain
	hostRoom uint16
	consec   uint8 // consecutive samples beyond D_limit
	rampUp   uint8 // round trips until cwnd counts as a fair share

	stopped     bool
	starting    bool // linear start
	dualRttPass bool
	idle        bool // nothing to send
	leftKnown   bool // the transport reports Left
}

const (
	// maxFlows bounds #flow, as in the artifact.
	maxFlows = 2000
	// stopCwnd is the window at which a flow stops instead of sending less (the artifact).
	stopCwnd cc.Packets = 0.1
	// restartRTTs is how many base round trips a flow must have nothing to send to count as a new
	// one: what it knew of the queue is outdated. OURS.
	restartRTTs = 4
)

// Inner returns the original CC.
func (p *PrioPlus) Inner() cc.Steerable { return p.inner }

// Events implements cc.Algorithm.
func (p *PrioPlus) Events() cc.EventSet {
	return p.innerEvents | cc.Events(cc.ACK, cc.ECN, cc.RTT, cc.RTO, cc.POST)
}

// Name implements cc.Named.
func (p *PrioPlus) Name() string { return "prioplus-" + cc.NameOf(p.inner) }

// Rank implements cc.Ranked.
func (p *PrioPlus) Rank() int { return p.Priority }

// Start implements cc.Starter. A flow begins when something is posted on it.
func (p *PrioPlus) Start(now units.Time) cc.Decision {
	// it has been idle for long enough to count as new
	p.idleSince = now.Add(-restartRTTs * p.path.BaseRTT)
	return p.decide()
}

// On implements cc.Algorithm.
func (p *PrioPlus) On(ev *cc.Event, now units.Time) cc.Decision {
	if p.reverse != nil {
		ev = p.reverse.subtract(ev, now)
	}
	if !p.beforeInner(ev, now) {
		return p.decide()
	}
	before := p.inner.Cwnd()
	d := p.inner.On(p.forInner(ev), now) // line 22
	if cwnd := p.inner.Cwnd(); cwnd < before && cwnd <= stopCwnd && !p.stopped {
		p.yield(max(p.delay, p.Target), now)
	}
	if p.stopped || p.starting {
		return p.decide()
	}
	return d
}

// beforeInner processes an event before the original CC, and reports whether the original CC is to
// process it, too.
func (p *PrioPlus) beforeInner(ev *cc.Event, now units.Time) bool {
	if p.base != nil {
		p.measureBase(ev, now)
	}
	if ev.Probe {
		p.onProbe(ev, now)
		return false
	}
	if ev.Kind == cc.POST || ev.Left > 0 && p.idle {
		p.onPost(ev, now)
	}
	if ev.Kind != cc.RTT && ev.Kind != cc.ACK && ev.Kind != cc.ECN {
		return p.innerEvents.Has(ev.Kind)
	}
	p.detectIdle(ev, now)
	// Acknowledgements of data sent before the flow stopped carry no new information.
	return !p.stopped && p.newAck(ev, now)
}

// newAck is Algorithm 1, lines 1 to 21. It returns false where the listing returns early.
func (p *PrioPlus) newAck(ev *cc.Event, now units.Time) bool {
	delay, ok := ev.FabricNear(p.path.BaseRTT)
	if !ok || ev.Packets <= 0 {
		return p.innerEvents.Has(ev.Kind)
	}
	p.updateHostRoom(ev, delay)
	p.delay = delay
	rttPass := ev.Acknowledges(p.rttEndSeq)
	if rttPass {
		p.rttEndSeq = ev.SndNxt & 0xffffff
		p.dualRttPass = !p.dualRttPass
		p.rampUp -= min(p.rampUp, 1)
		if !p.dualRttPass || !p.settings.dual {
			p.setWAI() // end of the adaptive increase (4.2.3)
		}
	}
	if delay >= p.Limit {
		if p.consec++; p.consec >= p.settings.filter {
			p.estimateFlows(delay)
			p.yield(delay, now)
			return false
		}
	} else {
		p.consec = 0 // on every sample, or two far apart would count as consecutive
	}
	if rttPass && delay <= p.Target {
		p.onRoundTrip(delay)
	} else if rttPass {
		p.starting = false
	}
	return !p.settings.artifact || !p.atBase(delay)
}

// updateHostRoom makes the window cover what is in hosts, in addition to the channel's bytes in the
// fabric, where ports without time stamps hold packets until they are polled. OURS: the paper's
// delays come from NICs' time stamps.
func (p *PrioPlus) updateHostRoom(ev *cc.Event, delay units.Duration) {
	if ev.LocalGap == 0 && ev.RemoteGap == 0 && p.hostRoom == 0 {
		return
	}
	hosts := max(0, ev.Delay-delay-ev.LocalAway-ev.RemoteAway)
	before := p.hostRoom
	p.hostRoom = uint16((7*int64(p.hostRoom) + min(int64(hosts/roomGrain), math.MaxUint16)) / 8)
	if p.hostRoom/roomStep != before/roomStep {
		p.steer()
	}
}

const (
	roomGrain = 100 * units.Nanosecond
	roomStep  = 64 // change of the room, in grains, from which on the window follows
)

// steer sets the original CC's target, and the bounds of its window.
func (p *PrioPlus) steer() { p.inner.Steer(p.Target-p.back, minCwnd, p.maxCwnd()) }

// maxCwnd returns the largest window: BaseBdp and the channel's bytes (the artifact), and what
// waits in hosts.
func (p *PrioPlus) maxCwnd() cc.Packets {
	return cc.Packets(p.perPicosec * float64(p.Target+units.Duration(p.hostRoom)*roomGrain))
}

// estimateFlows is delay-based flow cardinality estimation (4.3.1): the bytes in flight divided by
// this flow's cwnd.
func (p *PrioPlus) estimateFlows(delay units.Duration) {
	if p.rampUp == 0 { // otherwise cwnd is not a fair share
		flows := float64(delay) * p.perPicosec / float64(p.inner.Cwnd())
		if p.settings.artifact {
			flows = p.artifactFlows(flows)
		}
		p.nflow = float32(min(maxFlows, max(float64(p.nflow), flows)))
	}
	p.setWAI()
	p.countDown = p.rtts
}

func (p *PrioPlus) setWAI() {
	share := p.nflow
	if p.settings.artifact {
		share = max(1, share/artifactShare)
	}
	p.inner.SetAI(p.waiOrigin/cc.Packets(share), 0)
}

// onRoundTrip grows the window after a round trip that ends at or below D_target.
func (p *PrioPlus) onRoundTrip(delay units.Duration) {
	cwnd := p.inner.Cwnd()
	p.starting = p.atBase(delay)
	switch {
	case p.starting: // linear start (4.2.2)
		p.inner.SetCwnd(cwnd + p.linearStep())
		p.countDownFlows()
	case p.dualRttPass || !p.settings.dual: // start of the dual-RTT adaptive increase (4.2.3)
		step := cc.Packets(float64(p.Target-delay)/float64(delay)) * cwnd
		p.inner.SetAI(p.inner.AI(), min(cwnd/2, step))
	}
}

// atBase reports whether queues are empty, by a delay: "== BaseRtt" within the noise of clocks and
// hosts.
func (p *PrioPlus) atBase(delay units.Duration) bool {
	return delay < p.path.BaseRTT+p.settings.eps
}

// countDownFlows halves #flow when queues have been empty for longer than so many flows would leave
// them empty.
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

// stop stops the flow. cwnd keeps its value, which is unused until resume replaces it.
func (p *PrioPlus) stop() {
	p.stopped, p.starting, p.dualRttPass, p.consec = true, false, false, 0
}

// scheduleProbe schedules a probe with collision avoidance (4.2.1): not before the queue can drain
// to D_target, and not at the same time as other flows.
func (p *PrioPlus) scheduleProbe(delay units.Duration, now units.Time) {
	if p.idle {
		return // there is nothing to send
	}
	at := now.Add(max(0, delay-p.Target) + p.rng.Below(p.path.BaseRTT))
	for at == 0 || at == p.probeAt { // 0 means none, and the previous value no new probe
		at = at.Add(1)
	}
	p.probeAt = at
}

// onProbe handles the echo of a probe, or its loss.
func (p *PrioPlus) onProbe(ev *cc.Event, now units.Time) {
	if p.probeAt == 0 {
		return // a late echo
	}
	delay, ok := ev.FabricNear(p.path.BaseRTT - p.probeSaving)
	switch {
	case ok:
		p.newProbeAck(delay+p.probeSaving, ev, now)
	case ev.Kind == cc.RTO || ev.Kind == cc.RTT: // lost, or without a delay
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
		p.resume(p.linearStartCwnd(), delay, ev)
		p.starting = true
		p.countDownFlows()
	default:
		p.resume(p.cautiousCwnd(delay), delay, ev)
		p.rampUp = uint8(p.settings.rampUpRTTs)
	}
}

// linearStartCwnd returns the first window of a linear start.
func (p *PrioPlus) linearStartCwnd() cc.Packets { return max(p.linearStep(), p.settings.minResume) }

// linearStep returns the flow's share of W_LS, which is a fraction of what a round trip without a
// queue carries, hosts included.
func (p *PrioPlus) linearStep() cc.Packets {
	w := p.WLS
	if p.hostRoom > 0 {
		w *= 1 + cc.Packets(p.hostRoom)*cc.Packets(roomGrain)/cc.Packets(p.path.BaseRTT)
	}
	return w / cc.Packets(p.nflow)
}

// cautiousCwnd returns the window to resume with while others send: one packet, because it rests on
// one sample (4.4). With option room it is the flow's share of what is missing to D_target.
func (p *PrioPlus) cautiousCwnd(delay units.Duration) cc.Packets {
	if !p.settings.room {
		return 1
	}
	missing := cc.Packets(float64(p.Target-delay) * p.perPicosec)
	return max(1, min(missing, p.WLS)/cc.Packets(p.nflow))
}

// resume starts sending again. The first round trip ends with the first packet after the first
// window, so that the samples of all later round trips belong to new windows.
func (p *PrioPlus) resume(cwnd cc.Packets, delay units.Duration, ev *cc.Event) {
	p.stop()
	p.stopped, p.probeAt, p.rampUp = false, 0, 0
	p.setWAI()
	p.inner.Resume(cwnd, delay)
	p.rttEndSeq = (ev.SndNxt + uint32(math.Ceil(float64(cwnd)))) & 0xffffff
}

// onPost starts a flow, or continues one that was idle for a short time.
func (p *PrioPlus) onPost(ev *cc.Event, now units.Time) {
	resting := p.stopped && p.probeAt == 0
	long := p.idle && now.Sub(p.idleSince) >= restartRTTs*p.path.BaseRTT
	p.idle = false
	p.leftKnown = p.leftKnown || ev.Left > 0
	switch {
	case long && p.Direct: // linear start without a probe (4.4)
		p.delay = p.path.BaseRTT
		p.resume(p.linearStartCwnd(), p.delay, ev)
		p.starting = true
	case long || resting:
		p.stop()
		p.scheduleProbe(p.Target, now)
	}
}

// detectIdle detects that nothing is left to send, so that no probe is needed. A transport that
// never reported Left does not mean 0 by 0.
func (p *PrioPlus) detectIdle(ev *cc.Event, now units.Time) {
	switch {
	case ev.Left > 0:
		p.leftKnown = true
	case p.leftKnown && !p.idle:
		p.idle, p.idleSince, p.probeAt = true, now, 0
	}
}

func (p *PrioPlus) decide() cc.Decision {
	if p.stopped {
		return cc.Decision{ProbeAt: p.probeAt}
	}
	d := p.inner.Decision()
	if p.starting && d.Rate == 0 { // many flows may start at once: avoid bursts
		d.Rate = p.pace(d.Window)
	}
	return d
}

// pace returns the rate that sends a window in a round trip; 0 where that reaches a guessed line
// rate.
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
