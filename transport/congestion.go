package transport

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// congestion is the part of a queue pair that binds it to congestion control: events to it and
// decisions from it, pacing, and the echo of marks, telemetry and times in both directions.
type congestion struct {
	window   units.Bytes
	times    *sendTimes // when what is in flight left, for an algorithm that hears of delays
	flow     cc.Flow
	events   cc.EventSet // the events its algorithm hears
	peerAway peerAway

	hold   bool  // congestion control says that nothing leaves
	rated  bool  // it gave a rate
	bolt   bool  // its congestion control hears switches, and the peer plays its part
	hops   uint8 // whose telemetry congestion control reads
	timing bool  // ACKs tell how long packets that ask for it were here
	// something was posted where nothing was left, and congestion control was not told
	hasNewWork bool
	ecnEcho    bool // ACKs tell of marks, instead of CNPs
	probing    bool // it has a prober
}

// congestionCold is the state of the congestion binding that no packet of data touches.
type congestionCold struct {
	rate   units.BitRate
	echo   *ackEcho // once a packet has come with one
	prober *prober

	maxInFlight uint32 // bytes; 0 is no limit
	probes      bool   // either side may send a PROBE

	cnps, markedCE uint64
}

// clear forgets everything but the algorithm's newest window.
func (cong *congestion) clear() {
	cong.unpace()
	cong.dropAckEcho()
	cong.dropSendTimes()
	cong.dropProber()
	cong.leavePeer()
	cong.hold, cong.hasNewWork, cong.peerAway = false, false, 0
	cong.ecnEcho, cong.timing, cong.cold().probes, cong.bolt = false, false, false, false
}

// flowID returns the flow's name at the endpoint's Controller, limiter and timers.
func (cong *congestion) flowID() cc.Flow { return cong.flow }

// isHeld reports whether congestion control holds all packets back.
func (cong *congestion) isHeld() bool { return cong.hold }

// expects reports whether the algorithm takes events of a kind.
func (cong *congestion) expects(kind cc.Kind) bool { return cong.events.Has(kind) }

// limit returns the window.
func (cong *congestion) limit() units.Bytes { return cong.window }

// bind makes f, whose algorithm is a, the flow of the queue pair.
func (cong *congestion) bind(f cc.Flow, a cc.Algorithm) {
	e := cong.conn().ep
	cong.flow = f
	e.rank(f, a)
	cong.events = e.cc.Wants(f)
	cong.hops = 0
	if t, ok := a.(cc.Telemeter); ok {
		cong.hops = uint8(min(t.Telemetry(), extension.MaxINTRecords))
	}
	cong.applyNewDecision()
}

// agree takes over what the peer agreed to.
func (cong *congestion) agree(f wire.Features, bolt bool) {
	cong.cold().probes = f&wire.FeatureProbe != 0
	if cong.bolt = bolt; bolt {
		cong.boltState()
	}
	cong.ecnEcho, cong.timing = f&wire.FeatureECNEcho != 0, f&wire.FeatureTiming != 0
}

// setTelemetry sets of how many switches telemetry is read.
func (cong *congestion) setTelemetry(hops uint8) { cong.hops = hops }

// telemetry returns of how many switches telemetry is read.
func (cong *congestion) telemetry() int { return int(cong.hops) }

// hasTelemetry reports whether telemetry is read.
func (cong *congestion) hasTelemetry() bool { return cong.hops > 0 }

// hasBolt reports whether packets carry Bolt's flags.
func (cong *congestion) hasBolt() bool { return cong.bolt }

// hasProbes reports whether either side may send a PROBE.
func (cong *congestion) hasProbes() bool { return cong.cold().probes }

// hasProber reports whether a probe is asked for, or out.
func (cong *congestion) hasProber() bool { return cong.probing }

// hasTiming reports whether ACKs tell how long packets that ask for it were at the peer.
func (cong *congestion) hasTiming() bool { return cong.timing }

// asksTiming reports whether packets ask how long they were at the peer.
func (cong *congestion) asksTiming() bool { return cong.timing && cong.events.Has(cc.RTT) }

// isClockedByAcks reports whether the algorithm takes events of acknowledgements.
func (cong *congestion) isClockedByAcks() bool { return cong.events&acknowledgements != 0 }

// hasRate reports whether packets are paced.
func (cong *congestion) hasRate() bool { return cong.rated }

// bytesIn returns what the rate lets go in d.
func (cong *congestion) bytesIn(d units.Duration) units.Bytes { return cong.cold().rate.Bytes(d) }

// onSent notes that a packet left which carries, or asks for, size bytes.
func (cong *congestion) onSent(size uint32) {
	if cong.isPaced() {
		cong.conn().ep.limiter.Sent(uint32(cong.flow), units.Bytes(size))
	}
}

// setNewWork notes whether something was posted where nothing was left, which the algorithm does
// not
// know yet.
func (cong *congestion) setNewWork(fresh bool) { cong.hasNewWork = fresh }

// hasNewWorkToReport reports whether the algorithm is to be told of new work.
func (cong *congestion) hasNewWorkToReport() bool { return cong.hasNewWork }

// setMaxInFlight bounds the window; 0 does not.
func (cong *congestion) setMaxInFlight(most units.Bytes) {
	cong.cold().maxInFlight = uint32(min(most, math.MaxUint32))
}

// allowance is how much longer a timeout is, because of a peer that does not poll at times.
func (cong *congestion) allowance() units.Duration { return cong.peerAway.allowance() }

// earliest returns at, or when a probe is due, if that is earlier; 0 is never.
func (cong *congestion) earliest(at units.Time) units.Time {
	if !cong.probing {
		return at
	}
	return cong.cold().prober.earliest(at)
}

// countMark counts a packet that came with congestion experienced.
func (cong *congestion) countMark() {
	cong.conn().ep.counters.MarkedCE++
	cong.cold().markedCE++
}

// seenMarks returns how many of the peer's requests came with a mark.
func (cong *congestion) seenMarks() uint32 { return cong.cold().echo.seen }

// seenBolt returns the counts of Bolt's flags on the peer's requests.
func (cong *congestion) seenBolt() extension.BoltCounts { return cong.cold().echo.bolt.seen }

func (cong *congestion) addStats(s *QPStats) {
	s.CNPs, s.MarkedCE = cong.cold().cnps, cong.cold().markedCE
}

// reportNewWork tells congestion control that there is something to send again, before it leaves.
func (cong *congestion) reportNewWork(now units.Time) {
	qp := cong.conn()
	cong.hasNewWork = false
	if qp.state == ReadyToSend || qp.state == SQDrained {
		cong.report(cc.Event{Kind: cc.POST, PSN: uint32(qp.loss.oldest())}, now)
	}
}

// report tells congestion control of an event, and takes over what it decides.
func (cong *congestion) report(ev cc.Event, now units.Time) {
	qp := cong.conn()
	e := qp.ep
	e.event = ev
	e.event.Flow, e.event.SndNxt, e.event.InFlight, e.event.Left = cong.flow,
		uint32(qp.snd.nextPSN()),
		qp.loss.flight(), qp.snd.outstanding()
	e.cc.Report(&e.event, now)
	cong.applyNewDecision()
}
