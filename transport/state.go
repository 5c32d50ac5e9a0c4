package transport

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

func (qp *QueuePair) requireState(op string, states ...State) error {
	if qp.ep.qps.find(qp.Num) != qp {
		return fmt.Errorf("transport: QP %#x to %s: it is destroyed: %w", uint32(qp.Num), op,
			ErrState)
	}
	for _, s := range states {
		if qp.state == s {
			return nil
		}
	}
	return fmt.Errorf("transport: QP %#x to %s: it is in %v: %w", uint32(qp.Num), op, qp.state,
		ErrState)
}

// setState changes the state.
func (qp *QueuePair) setState(to State) {
	qp.ep.trace.onState(qp, to)
	qp.state = to
}

func (qp *QueuePair) invalid(op, format string, args ...any) error {
	return fmt.Errorf("transport: QP %#x to %s: %s: %w", uint32(qp.Num), op,
		fmt.Sprintf(format, args...), ErrInvalid)
}

// Modify moves the queue pair to a state, with the attributes of that state (ibv_modify_qp):
//
//   - Init, from Reset: receives may be posted. From Init it changes the attributes.
//   - ReadyToReceive, from Init: packets are accepted. With UD only the state changes.
//   - ReadyToSend, from ReadyToReceive: requests leave. From SQDrained and SQErrored, without
//     attributes: requests leave again.
//   - SQDrained, from ReadyToSend: no further request begins. AsyncSQDrained follows when none is
//     outstanding.
//   - Errored: requests and receives complete with StatusWRFlushErr. From Reset it has no effect.
//   - Reset, from any state: requests and receives end without completions.
func (qp *QueuePair) Modify(to State, a QPAttr) error {
	switch to {
	case Reset:
		return qp.reset()
	case Init:
		return qp.toInit(&a)
	case ReadyToReceive:
		return qp.toRTR(&a)
	case ReadyToSend:
		return qp.toRTS(&a)
	case SQDrained:
		return qp.toSQD()
	case SQErrored:
		if qp.ep.qps.find(qp.Num) != qp {
			return qp.requireState("SQE")
		}
		return qp.invalid("modify", "a queue pair enters %v by itself, when a request fails", to)
	case Errored:
		if qp.ep.qps.find(qp.Num) != qp {
			return qp.requireState("ERR")
		}
		if qp.state != Reset && qp.state != Errored {
			qp.fail()
		}
		return nil
	}
	return qp.invalid("modify", "no such state: %d", uint8(to))
}

// reset drops everything in progress, unless the queue pair is destroyed: its number, and the name
// of its flow, may belong to another queue pair then.
func (qp *QueuePair) reset() error {
	if qp.ep.qps.find(qp.Num) != qp {
		return qp.requireState("RESET")
	}
	qp.clear()
	return nil
}

func (qp *QueuePair) toInit(a *QPAttr) error {
	if err := qp.requireState("INIT", Reset, Init); err != nil {
		return err
	}
	if a.PKey == 0 {
		a.PKey = 0xffff
	}
	admits := a.Gate != nil || len(a.Granters) > 0
	if admits {
		if err := qp.admit(a.Gate, a.Granters...); err != nil {
			return err
		}
	}
	if a.ConsumeOnPost {
		if err := qp.consumeOnPost(); err != nil {
			if admits {
				qp.dropAdmission()
			}
			return err
		}
	}
	if a.Algorithm != nil { // last: it cannot fail
		qp.replaceAlgorithm(a.Algorithm)
	}
	qp.access, qp.pkey, qp.qkey = a.Access, a.PKey, a.QKey
	qp.setState(Init)
	return nil
}

func (qp *QueuePair) toRTR(a *QPAttr) error {
	if err := qp.requireState("RTR", Init); err != nil {
		return err
	}
	e := qp.ep
	if qp.Type == UD {
		qp.setMTU(endpoint.PathMTUFor(e.info.MTU))
		qp.setState(ReadyToReceive)
		return nil
	}
	if err := qp.checkRTR(a); err != nil {
		return err
	}
	speaksBolt, err := qp.agreeExtension(a)
	if err != nil {
		return err
	}
	if a.Path.TrafficClass&wire.ECNMask == wire.ECNNotECT &&
		(qp.cong.expects(cc.ECN) || qp.cong.expects(cc.CNP) || qp.adm.hasTokens()) {
		a.Path.TrafficClass |= wire.ECNECT0
	}
	if a.Path.SourcePort == 0 {
		a.Path.SourcePort = sourcePort(qp.Num, a.DestQPN)
	}
	address, err := e.address(a.Path, a.DestQPN, qp.pkey)
	if err != nil {
		return fmt.Errorf("transport: QP %#x to RTR: %w", uint32(qp.Num), err)
	}
	if err := qp.tmpl.Set(address); err != nil {
		return fmt.Errorf("transport: QP %#x to RTR: %w", uint32(qp.Num), err)
	}
	entry, err := e.neighbors.Hold(a.Path.IP, e.now)
	if err != nil {
		return fmt.Errorf("transport: QP %#x to RTR: %w", uint32(qp.Num), err)
	}
	qp.neighbor, qp.neighborGen = entry, 0
	qp.cong.joinPeer(a.Path.IP)
	qp.dest = a.DestQPN
	qp.setMTU(a.PathMTU)
	qp.rcv.begin(a)
	if x := a.Extension; qp.Type == RC {
		qp.sendTag, qp.recvTag = x.SendTag, x.RecvTag
		qp.rcv.agree(x.Features)
		qp.cong.agree(x.Features, speaksBolt)
		if x.Features&wire.FeatureSACK != 0 {
			qp.sackBits = x.SACKBits
		}
	}
	qp.setState(ReadyToReceive)
	return nil
}

// checkRTR checks the attributes of INIT→RTR by themselves.
func (qp *QueuePair) checkRTR(a *QPAttr) error {
	e := qp.ep
	switch {
	case !endpoint.IsPathMTU(a.PathMTU):
		return qp.invalid("RTR", "path MTU %d is not 256, 512, 1024, 2048 or 4096",
			int64(a.PathMTU))
	case a.PathMTU > endpoint.PathMTUFor(e.info.MTU):
		return qp.invalid("RTR",
			"path MTU %d does not fit port %s, whose MTU is %d; the largest that does is %d",
			int64(a.PathMTU), e.info.Name, int64(e.info.MTU),
			int64(endpoint.PathMTUFor(e.info.MTU)))
	case a.MaxDestRdAtomic < 0 || a.MaxDestRdAtomic > endpoint.MaxRdAtomic:
		return qp.invalid("RTR", "max_dest_rd_atomic %d is not in 0..%d", a.MaxDestRdAtomic,
			endpoint.MaxRdAtomic)
	case a.MinRNRTimer > 31:
		return qp.invalid("RTR", "min_rnr_timer %d is not in 0..31", a.MinRNRTimer)
	case a.Extension.SACKBits%32 != 0 || a.Extension.SACKBits > extension.MaxSACKBits:
		return qp.invalid("RTR", "%d bits of SACK are not a multiple of 32 up to %d",
			a.Extension.SACKBits,
			extension.MaxSACKBits)
	case a.DestQPN > wire.PSNMask || a.RecvPSN > wire.PSNMask:
		return qp.invalid("RTR", "QPN %#x or PSN %#x has more than 24 bits", uint32(a.DestQPN),
			uint32(a.RecvPSN))
	}
	return nil
}

// agreeExtension applies the agreed features that make packets longer, and checks that packets fit
// the port. It returns whether packets carry Bolt's flags.
func (qp *QueuePair) agreeExtension(a *QPAttr) (speaksBolt bool, err error) {
	e := qp.ep
	if qp.Type != RC || a.Extension.Features&wire.FeatureINT == 0 {
		qp.cong.setTelemetry(0)
	}
	speaksBolt = qp.Type == RC && qp.cong.expects(cc.CST) && !qp.cong.hasTelemetry() &&
		a.Extension.Features&wire.FeatureBolt != 0
	qp.agreeAdmission(&a.Extension)
	extra := xdataLen(qp.cong.telemetry())
	if speaksBolt {
		extra = boltTLVs
	}
	if qp.adm != nil {
		qp.adm.begin(a.RecvPSN)
		if qp.adm.hasGrants() {
			if extra > 0 {
				return false, qp.invalid("RTR",
					"packets that carry their grant have no room "+
						"for what switches write (%s)", "INT or Bolt")
			}
			extra = grantTLVs
		}
	}
	if a.PathMTU > endpoint.PathMTUFor(e.info.MTU-extra) {
		return false, qp.invalid("RTR",
			"path MTU %d does not fit port %s, whose MTU is %d, with %d "+
				"bytes for switches", int64(a.PathMTU), e.info.Name,
			int64(e.info.MTU), int64(extra))
	}
	return speaksBolt, nil
}

func (qp *QueuePair) toRTS(a *QPAttr) error {
	if err := qp.requireState("RTS", ReadyToReceive, SQDrained, SQErrored); err != nil {
		return err
	}
	if qp.state == SQDrained || qp.state == SQErrored {
		qp.setState(ReadyToSend)
		qp.ep.scheduleRequests(qp)
		return nil
	}
	switch {
	case a.SendPSN > wire.PSNMask:
		return qp.invalid("RTS", "PSN %#x has more than 24 bits", uint32(a.SendPSN))
	case a.Timeout > 31:
		return qp.invalid("RTS", "timeout %d is not in 0..31", a.Timeout)
	case a.RetryCount > 7 || a.RNRRetry > 7:
		return qp.invalid("RTS", "retry counts %d and %d are not in 0..7", a.RetryCount, a.RNRRetry)
	case a.MaxRdAtomic < 0 || a.MaxRdAtomic > endpoint.MaxRdAtomic:
		return qp.invalid("RTS", "max_rd_atomic %d is not in 0..%d", a.MaxRdAtomic,
			endpoint.MaxRdAtomic)
	case a.RTOLow < 0 || a.RTOHigh < 0 || a.MaxInFlight < 0:
		return qp.invalid("RTS", "timeouts %v and %v or %d bytes in flight are negative", a.RTOLow,
			a.RTOHigh, int64(a.MaxInFlight))
	case a.Reordering < 0 || a.Reordering > maxReordering:
		return qp.invalid("RTS", "reordering of %v is not in 0..%v", a.Reordering, maxReordering)
	case a.Class != packet.ClassData && (a.Class < packet.Classes || a.Class >= qp.ep.classes):
		return qp.invalid("RTS", "class %d is not a class of data; the port has %d classes, of "+
			"which those from %d on are for data besides ClassData",
			a.Class, qp.ep.classes, packet.Classes)
	}
	qp.class = a.Class
	qp.snd.begin(a)
	qp.loss.begin(a)
	qp.cong.setMaxInFlight(a.MaxInFlight)
	qp.setState(ReadyToSend)
	d, _ := qp.ep.cc.Decision(qp.cong.flowID())
	qp.cong.applyDecision(d)
	qp.ep.scheduleRequests(qp)
	return nil
}

// toSQD moves RTS→SQD: no further work request begins. AsyncSQDrained reports when nothing is
// outstanding any more.
func (qp *QueuePair) toSQD() error {
	if err := qp.requireState("SQD", ReadyToSend); err != nil {
		return err
	}
	qp.setState(SQDrained)
	qp.cong.updateBacklogged()
	qp.checkDrained()
	return nil
}

func (qp *QueuePair) checkDrained() {
	if qp.state == SQDrained && qp.loss.oldest() == qp.loss.highest() && !qp.snd.hasBegun() {
		qp.ep.async(AsyncEvent{Kind: AsyncSQDrained, QP: qp})
	}
}

// Connect moves a new queue pair through INIT and RTR to RTS.
func (qp *QueuePair) Connect(a QPAttr) error {
	if err := qp.toInit(&a); err != nil {
		return err
	}
	if err := qp.toRTR(&a); err != nil {
		return err
	}
	return qp.toRTS(&a)
}

// fatal moves the queue pair to the error state by itself, with an event of the given kind.
func (qp *QueuePair) fatal(kind AsyncKind) {
	if qp.state == Errored {
		return
	}
	qp.ep.async(AsyncEvent{Kind: kind, QP: qp})
	qp.fail()
}

// fail enters the error state and flushes both queues, in order.
func (qp *QueuePair) fail() {
	qp.setState(Errored)
	qp.ep.timers.Stop(uint32(qp.cong.flowID()))
	qp.cong.removeFromLimiter()
	qp.loss.endRecovery()
	qp.rcv.dropReorder()
	qp.cong.dropSendTimes()
	qp.cong.dropProber()
	qp.dropAdmission()
	qp.cong.leavePeer()
	qp.snd.flush()
	qp.loss.setFlight(0)
	qp.rcv.flush()
}

func (qp *QueuePair) setMTU(mtu units.Bytes) {
	qp.mtu = uint32(mtu)
	qp.mtuShift = 0
	for 1<<qp.mtuShift < qp.mtu {
		qp.mtuShift++
	}
}

// sourcePort spreads connections over the paths that switches and NICs choose by hashing the port
// (annex A17.9.2). Both ends compute the same port, so a symmetric hash keeps both directions on
// one path.
func sourcePort(a, b wire.QPN) uint16 {
	h := uint32(a) * uint32(b)
	h ^= h>>20 ^ h>>10
	return uint16(h&0x3fff) | firstPort
}

// address completes a path to everything that a packet's headers need.
func (e *Endpoint) address(p AddressVector, dest wire.QPN, pkey uint16) (wire.Address, error) {
	if !p.IP.IsValid() {
		return wire.Address{}, fmt.Errorf("no peer address: %w", ErrInvalid)
	}
	src := p.Source
	if !src.IsValid() {
		var err error
		if src, err = e.neighbors.Source(p.IP); err != nil {
			return wire.Address{}, err
		}
	} else if !e.neighbors.Owns(src) {
		return wire.Address{}, fmt.Errorf("source %v is not an address of this endpoint: %w", src,
			ErrInvalid)
	}
	return wire.Address{
		SrcMAC: e.mac, Src: src, Dst: p.IP, SrcPort: p.SourcePort, TOS: p.TrafficClass,
		VLAN: e.vlan,
		TTL:  p.HopLimit, FlowLabel: p.FlowLabel, PKey: pkey, DestQP: dest,
		NoICRC: e.noICRC,
	}, nil
}

// failAt completes the request at index i of the send queue with an error, after flushing those
// before it, and moves the queue pair to the error state, which flushes those behind it. With UC
// and UD it is the send queue alone that fails (InfiniBand spec 10.3.1.5).
func (qp *QueuePair) failAt(i uint32, s Status, kind AsyncKind) {
	qp.snd.failAt(i, s)
	if qp.Type == RC {
		qp.fatal(kind)
	} else if qp.state == ReadyToSend || qp.state == SQDrained {
		qp.failSends()
	}
}

// failSends enters SQE and flushes the send queue.
func (qp *QueuePair) failSends() {
	qp.setState(SQErrored)
	qp.loss.cancelTimer()
	qp.ep.timers.Stop(uint32(qp.cong.flowID()))
	qp.cong.removeFromLimiter()
	qp.snd.flush()
	qp.loss.setFlight(0)
	qp.cong.updateBacklogged()
}

// failHead completes the oldest outstanding request with an error.
func (qp *QueuePair) failHead(s Status) { qp.failAt(qp.snd.head(), s, AsyncQPFatal) }
