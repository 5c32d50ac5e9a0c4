package transport

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// congestion binds a queue pair to congestion control: it reports events, applies decisions, paces
// packets, and echoes marks, telemetry and times in both directions.
type congestion struct {
	window   units.Bytes
	times    *sendTimes // send times of packets in flight, for an algorithm that takes delays
	flow     cc.Flow
	events   cc.EventSet // the events that its algorithm takes
	peerAway peerAway

	hold   bool  // the algorithm lets nothing leave
	rated  bool  // the algorithm has set a rate
	bolt   bool  // Bolt: the algorithm takes cc.CST, and the peer agreed
	hops   uint8 // number of switches whose telemetry the algorithm reads
	timing bool  // ACKs report residence times of packets that ask for it
	// something was posted to an idle queue pair, and the algorithm does not know yet
	hasNewWork bool
	ecnEcho    bool // ACKs echo marks, instead of CNPs
	probing    bool // it has a prober
}

// congestionCold is the state of congestion that no data packet touches.
type congestionCold struct {
	rate   units.BitRate
	echo   *ackEcho // nil until there is something to echo
	prober *prober

	maxInFlight uint32 // bytes; 0 means no limit
	probes      bool   // either side may send a PROBE

	cnps, markedCE uint64
	retired        *Retired // of its algorithm
}

// clear resets everything but the algorithm's newest window.
func (cong *congestion) clear() {
	cong.removeFromLimiter()
	cong.dropAckEcho()
	cong.dropSendTimes()
	cong.dropProber()
	cong.leavePeer()
	cong.hold, cong.hasNewWork, cong.peerAway = false, false, 0
	cong.ecnEcho, cong.timing, cong.cold().probes, cong.bolt = false, false, false, false
}

// flowID returns the flow's ID at the endpoint's Controller, limiter and timers.
func (cong *congestion) flowID() cc.Flow { return cong.flow }

// isHeld reports whether the algorithm holds all packets back.
func (cong *congestion) isHeld() bool { return cong.hold }

// expects reports whether the algorithm takes events of a kind.
func (cong *congestion) expects(kind cc.Kind) bool { return cong.events.Has(kind) }

// limit returns the window.
func (cong *congestion) limit() units.Bytes { return cong.window }

// bind makes f the queue pair's flow; a is its algorithm.
func (cong *congestion) bind(f cc.Flow, a cc.Algorithm) {
	e := cong.conn().ep
	cong.flow = f
	cong.cold().retired = e.retiredOf(cc.NameOf(a))
	e.rank(f, a)
	cong.events = e.cc.Events(f)
	cong.hops = 0
	if t, ok := a.(cc.Telemeter); ok {
		cong.hops = uint8(min(t.Telemetry(), extension.MaxINTRecords))
	}
	cong.applyNewDecision()
}

// agree applies the features that the peer agreed to.
func (cong *congestion) agree(f wire.Features, bolt bool) {
	cong.cold().probes = f&wire.FeatureProbe != 0
	if cong.bolt = bolt; bolt {
		cong.boltState()
	}
	cong.ecnEcho, cong.timing = f&wire.FeatureECNEcho != 0, f&wire.FeatureTiming != 0
}

// setTelemetry sets the number of switches whose telemetry is read.
func (cong *congestion) setTelemetry(hops uint8) { cong.hops = hops }

// telemetry returns the number of switches whose telemetry is read.
func (cong *congestion) telemetry() int { return int(cong.hops) }

// hasTelemetry reports whether telemetry is read.
func (cong *congestion) hasTelemetry() bool { return cong.hops > 0 }

// hasBolt reports whether packets carry Bolt's flags.
func (cong *congestion) hasBolt() bool { return cong.bolt }

// hasProbes reports whether either side may send a PROBE.
func (cong *congestion) hasProbes() bool { return cong.cold().probes }

// hasProber reports whether a probe is requested or outstanding.
func (cong *congestion) hasProber() bool { return cong.probing }

// hasTiming reports whether ACKs report residence times of packets that ask for it.
func (cong *congestion) hasTiming() bool { return cong.timing }

// requestsTiming reports whether packets request their residence time at the peer.
func (cong *congestion) requestsTiming() bool { return cong.timing && cong.events.Has(cc.RTT) }

// isClockedByAcks reports whether the algorithm takes events of acknowledgements.
func (cong *congestion) isClockedByAcks() bool { return cong.events&acknowledgements != 0 }

// hasRate reports whether packets are paced.
func (cong *congestion) hasRate() bool { return cong.rated }

// bytesIn returns how many bytes the rate allows in d.
func (cong *congestion) bytesIn(d units.Duration) units.Bytes { return cong.cold().rate.Bytes(d) }

// onSent charges the limiter for a packet that carries, or asks for, size bytes.
func (cong *congestion) onSent(size uint32) {
	if cong.isPaced() {
		cong.conn().ep.limiter.Sent(uint32(cong.flow), units.Bytes(size))
	}
}

// setNewWork sets whether something was posted to an idle queue pair that the algorithm does not
// know of yet.
func (cong *congestion) setNewWork(hasNewWork bool) { cong.hasNewWork = hasNewWork }

// hasNewWorkToReport reports whether the algorithm must be notified of new work.
func (cong *congestion) hasNewWorkToReport() bool { return cong.hasNewWork }

// setMaxInFlight bounds the window; 0 means no bound.
func (cong *congestion) setMaxInFlight(limit units.Bytes) {
	cong.cold().maxInFlight = uint32(min(limit, math.MaxUint32))
}

// allowance returns by how much timeouts are longer for a peer that at times does not poll.
func (cong *congestion) allowance() units.Duration { return cong.peerAway.allowance() }

// earliest returns the earlier of at and the next deadline of a probe; 0 means never.
func (cong *congestion) earliest(at units.Time) units.Time {
	if !cong.probing {
		return at
	}
	return cong.cold().prober.earliest(at)
}

// countMark counts a packet that arrived with congestion experienced.
func (cong *congestion) countMark() {
	qp := cong.conn()
	qp.ep.counters.MarkedCE++
	cong.cold().markedCE++
	if t := qp.ep.trace; t != nil {
		t.onMark(qp, cong.cold().markedCE)
	}
}

// receivedMarks returns how many of the peer's requests arrived marked.
func (cong *congestion) receivedMarks() uint32 { return cong.cold().echo.marks }

// receivedBolt returns the counts of Bolt's flags on the peer's requests.
func (cong *congestion) receivedBolt() extension.BoltCounts {
	return cong.cold().echo.bolt.received
}

func (cong *congestion) addStats(s *QPStats) {
	s.CNPs, s.MarkedCE = cong.cold().cnps, cong.cold().markedCE
}

// reportNewWork notifies congestion control, before anything leaves, that an idle queue pair has
// something to send.
func (cong *congestion) reportNewWork(now units.Time) {
	qp := cong.conn()
	cong.hasNewWork = false
	if qp.state == ReadyToSend || qp.state == SQDrained {
		cong.report(cc.Event{Kind: cc.POST, PSN: uint32(qp.loss.oldest())}, now)
	}
}

// report reports an event to congestion control and applies its decision.
func (cong *congestion) report(ev cc.Event, now units.Time) {
	qp := cong.conn()
	e := qp.ep
	e.event = ev
	e.event.Flow, e.event.SndNxt, e.event.InFlight, e.event.Left = cong.flow,
		uint32(qp.snd.nextPSN()),
		qp.loss.flight(), qp.snd.outstanding()
	e.trace.onEvent(ev.Kind)
	e.cc.Report(&e.event, now)
	cong.applyNewDecision()
}

// applyNewDecision applies the newest decision of congestion control.
func (cong *congestion) applyNewDecision() {
	qp := cong.conn()
	if d, changed := qp.ep.cc.Decision(cong.flow); changed {
		cong.applyDecision(d)
	}
}

func (cong *congestion) applyDecision(d cc.Decision) {
	qp := cong.conn()
	cong.window, cong.hold = d.Window, d.Hold || d.Window <= 0
	if cong.bolt {
		cong.cold().echo.bolt.tags = d.Tags
	}
	cong.setRate(d.Rate)
	if cong.hold {
		cong.cancelPacing()
		cong.updateBacklogged()
	}
	if cong.probing || d.ProbeAt != 0 {
		cong.requestProbe(d.ProbeAt)
	}
	if limit := cong.cold().maxInFlight; limit > 0 {
		cong.window = min(cong.window, units.Bytes(limit))
	}
	if qp.ep.trace != nil {
		qp.ep.trace.onDecision(qp, d)
	}
	if qp.snd.hasNext() || qp.loss.isRecovering() {
		qp.ep.scheduleRequests(qp)
	}
}
