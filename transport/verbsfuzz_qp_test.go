package transport

import (
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// verbsQP is a queue pair and what the oracle expects of it.
type verbsQP struct {
	*QueuePair
	host           *verbsHost
	init           QPInit
	pd             *verbsPD
	sendCQ, recvCQ *verbsCQ
	srq            *verbsSRQ
	destroyed      bool
	state          State
	life           *verbsLife
	// the round after which it was found to have failed by itself; 0: it has not
	failedAt int
	reported bool // an event reported that
	draining bool // in SQD, without an event yet that nothing is outstanding
}

// verbsLife is the time between two resets of a queue pair.
type verbsLife struct {
	qp       *verbsQP
	sends    []*verbsPost // in the order in which they were posted
	ended    int          // sends before it have completed, or need not
	recvs    []*verbsPost // that have not completed, unless the queue is a shared one
	failed   bool         // a request ended with an error
	reported bool         // with another status than that of a flush
	lossy    bool         // a completion was lost: the oracle does not know what to expect
	peer     *verbsLife   // that to which connect connected it
	got      int          // messages received from the peer
	access   Access
	bounded  bool // everything posted ends within a bounded time
	reads    int  // max_rd_atomic
}

func (h *verbsHost) createQP() {
	pd, ok := anyOf(h, h.pds)
	send, ok2 := anyOf(h, h.cqs)
	recv, ok3 := anyOf(h, h.cqs)
	if !ok || !ok2 || !ok3 || full(h.qps, (*verbsQP).isDestroyed) {
		return
	}
	q := &verbsQP{host: h, pd: pd, sendCQ: send, recvCQ: recv}
	if h.chance(3) {
		q.srq, _ = anyOf(h, h.srqs)
	}
	q.init = QPInit{
		Type:       oneOf(h.verbsWorld, RC, UC, UD, RC, RC, QPType(7)),
		MaxSendWR:  oneOf(h.verbsWorld, 16, 0, 1, 2, 64, -1, endpoint.MaxQueueDepth+1),
		MaxRecvWR:  oneOf(h.verbsWorld, 16, 0, 1, 2, 64, -1, endpoint.MaxQueueDepth+1),
		MaxSendSGE: oneOf(h.verbsWorld, 3, 0, 1, endpoint.MaxSGE, -1, endpoint.MaxSGE+1),
		MaxRecvSGE: oneOf(h.verbsWorld,
			3, 0, 1, endpoint.MaxSGE, -1, endpoint.MaxSGE+1),
		MaxInline: oneOf(h.verbsWorld, 64, 0, 1, endpoint.MaxInline, -1, endpoint.MaxInline+1),
		SignalAll: h.chance(4),
		Algorithm: h.algorithm(),
	}
	h.tryCreateQP(q)
}

// creatable reports whether a queue pair may be created.
func (q *verbsQP) creatable() bool {
	in := func(n, low, high int) bool { return n >= low && n <= high }
	i := &q.init
	return i.Type <= UD && !q.pd.destroyed && !q.sendCQ.destroyed && !q.recvCQ.destroyed &&
		(q.srq == nil || !q.srq.destroyed && q.srq.pd == q.pd) &&
		in(i.MaxSendWR, 0, endpoint.MaxQueueDepth) && in(i.MaxRecvWR, 0, endpoint.MaxQueueDepth) &&
		i.MaxSendSGE <= endpoint.MaxSGE && i.MaxRecvSGE <= endpoint.MaxSGE && in(i.MaxInline, 0,
		endpoint.MaxInline)
}

func (h *verbsHost) tryCreateQP(q *verbsQP) bool {
	q.init.PD, q.init.SendCQ, q.init.RecvCQ = q.pd.ProtectionDomain, q.sendCQ.CompletionQueue,
		q.recvCQ.CompletionQueue
	if q.srq != nil {
		q.init.SRQ = q.srq.SharedReceiveQueue
	}
	var err error
	q.QueuePair, err = h.ep.CreateQP(q.init)
	if !q.creatable() {
		h.refused(err, ErrInvalid)
		return false
	}
	require.NoError(h.t, err)
	require.Nil(h.t, h.numbers[q.Num], "a number that was used before")
	require.Equal(h.t, q.init.MaxSendWR, q.SendRoom())
	q.life = &verbsLife{qp: q}
	h.numbers[q.Num] = q
	put(&h.qps, q, (*verbsQP).isDestroyed)
	return true
}

func (h *verbsHost) destroyQP() {
	if q, ok := anyOf(h, h.qps); ok {
		q.destroy()
	}
}

func (q *verbsQP) destroy() {
	q.newLife()
	q.Destroy()
	q.destroyed = true
	require.Nil(q.host.t, q.host.ep.qps.find(q.Num))
}

// newLife ends everything posted, which will not complete. It comes before the call that causes
// this, after which there is nothing to look at.
func (q *verbsQP) newLife() {
	if q.destroyed {
		return
	}
	q.host.vanish(q.life.sends)
	q.host.vanish(q.life.recvs)
	if r := &q.rcv; q.srq != nil && r.hasReceive {
		p := q.host.posts[r.wqe.id]
		q.host.consume(q, p)
		p.end()
	}
	q.state, q.failedAt, q.reported = Reset, 0, false
	q.life = &verbsLife{qp: q}
}

// vanish ends requests without completions.
func (w *verbsWorld) vanish(posts []*verbsPost) {
	for _, p := range posts {
		if !p.done {
			p.end()
		}
	}
}

func (h *verbsHost) toReset() {
	if q, ok := anyOf(h, h.qps); ok {
		q.newLife()
		q.Modify(Reset, QPAttr{})
	}
}

func (h *verbsHost) toError() {
	if q, ok := anyOf(h, h.qps); ok && !q.destroyed {
		q.die()
	}
}

// die moves the queue pair to the error state; everything posted ends before the call returns.
func (q *verbsQP) die() {
	early := q.State() == Errored // and perhaps not flushed yet
	q.Modify(Errored, QPAttr{})
	if q.state != Reset && q.state != Errored {
		q.state = Errored
	}
	q.host.checkChanges()
	if q.state == Errored && !early {
		q.flushed()
	}
}

// flushed checks that the queues are empty.
func (q *verbsQP) flushed() {
	t := q.host.t
	require.Equal(t, q.init.MaxSendWR, q.SendRoom(), "QP %#x in the error state", uint32(q.Num))
	if q.life.lossy {
		return
	}
	require.Empty(t, q.life.recvs, "receives of QP %#x in the error state", uint32(q.Num))
	for i, p := range q.life.sends {
		require.True(t, p.done || !p.signaled && i < q.firstFailed(),
			"request %d of QP %#x has not ended", p.id, uint32(q.Num))
	}
}

// firstFailed returns the index of the first request that failed and was not cancelled.
func (q *verbsQP) firstFailed() int {
	for i, p := range q.life.sends {
		if p.done && p.status != StatusSuccess && !p.cancelled {
			return i
		}
	}
	return len(q.life.sends)
}

// modify calls a verb that changes the state, which is allowed in some states, with a valid
// argument or not.
func (q *verbsQP) modify(valid bool, to State, change func() error, from ...State) {
	before, may := q.State(), false
	for _, s := range from {
		may = may || s == before && !q.destroyed
	}
	err := change()
	switch {
	case !may:
		q.host.refused(err, ErrState)
	case !valid:
		q.host.refused(err, nil)
	default:
		require.NoError(q.host.t, err)
		q.state = to
		return
	}
	require.Equal(q.host.t, before, q.State(), "a refused call changes nothing")
}

func (h *verbsHost) toInit() {
	q, ok := anyOf(h, h.qps)
	if !ok {
		return
	}
	a := QPAttr{Access: Access(h.byte()), PKey: oneOf[uint16](h.verbsWorld, 0, 0xffff, 1, 0x8001),
		QKey: 0x11111111}
	q.modify(true, Init, func() error { return q.Modify(Init, a) }, Reset, Init)
	if q.state == Init {
		q.life.access = a.Access
	}
}

// toRTR draws every attribute; most are valid.
func (h *verbsHost) toRTR() {
	q, ok := anyOf(h, h.qps)
	to, ok2 := anyOf(h, h.peer.qps)
	if !ok || !ok2 {
		return
	}
	path, fits := h.path(h.peer.ip)
	a := QPAttr{
		Path: path, DestQPN: to.Num, RecvPSN: wire.PSN(h.nextPSN()),
		PathMTU: oneOf[units.Bytes](h.verbsWorld, 1024, 256, 4096, 0, 1000, 8192, -256),
		MaxDestRdAtomic: oneOf(h.verbsWorld, 4, 0, 1, endpoint.MaxRdAtomic, endpoint.MaxRdAtomic+1,
			-1),
		MinRNRTimer: oneOf[uint8](h.verbsWorld, 1, 12, 31, 32),
	}
	const features = wire.FeatureProbe | wire.FeatureSACK | wire.FeatureECNEcho | wire.FeatureTiming
	a.Extension = wire.Agreement{Features: wire.Features(h.byte()) & features, SendTag: 7,
		SACKBits: oneOf[uint16](h.verbsWorld, 0, 32, 512, 31, 1024), RecvTag: uint16(h.byte())}
	switch h.pick(8) {
	case 1:
		a.DestQPN = 1 << 24
	case 2:
		a.RecvPSN = 1 << 24
	}
	valid := fits && endpoint.IsPathMTU(a.PathMTU) && a.MaxDestRdAtomic >= 0 &&
		a.MaxDestRdAtomic <= endpoint.MaxRdAtomic && a.MinRNRTimer < 32 &&
		a.Extension.SACKBits%32 == 0 && a.Extension.SACKBits <= extension.MaxSACKBits &&
		a.DestQPN < 1<<24 &&
		a.RecvPSN < 1<<24
	q.modify(valid || q.Type == UD, ReadyToReceive,
		func() error { return q.Modify(ReadyToReceive, a) }, Init)
}

func (h *verbsHost) toRTS() {
	q, ok := anyOf(h, h.qps)
	if !ok {
		return
	}
	a := QPAttr{
		SendPSN: wire.PSN(h.nextPSN()), Timeout: oneOf[uint8](h.verbsWorld, 4, 0, 1, 31, 32),
		RetryCount: oneOf[uint8](h.verbsWorld, 1, 0, 7, 8),
		RNRRetry:   oneOf[uint8](h.verbsWorld, 1, 0, 7, 8), MaxRdAtomic: oneOf(h.verbsWorld, 4, 0,
			1,
			endpoint.MaxRdAtomic, endpoint.MaxRdAtomic+1, -1),
		RTOLow: oneOf(h.verbsWorld, 0, 0, 10*units.Microsecond, units.Forever, 2*units.Forever,
			-1),
		RTOHigh: oneOf(h.verbsWorld, 0, 0, 100*units.Microsecond, units.Forever,
			2*units.Forever, -1),
		MaxInFlight: oneOf[units.Bytes](h.verbsWorld, 0, 1, 10_000, 1<<40, -1),
		Reordering:  oneOf(h.verbsWorld, 0, units.Microsecond, maxReordering, maxReordering+1, -1),
		Class: packet.Class(oneOf(h.verbsWorld, int(packet.ClassData), 0, int(packet.Classes), 7,
			255)),
	}
	if h.chance(8) {
		a.SendPSN = 1 << 24
	}
	valid := a.SendPSN < 1<<24 && a.Timeout < 32 && a.RetryCount < 8 && a.RNRRetry < 8 &&
		a.MaxRdAtomic >= 0 && a.MaxRdAtomic <= endpoint.MaxRdAtomic &&
		a.RTOLow >= 0 && a.RTOHigh >= 0 && a.MaxInFlight >= 0 && a.Reordering >= 0 &&
		a.Reordering <= maxReordering &&
		(a.Class == packet.ClassData || a.Class >= packet.Classes && a.Class < h.ep.classes)
	before := q.State()
	valid = valid || before == SQDrained || before == SQErrored
	q.modify(valid, ReadyToSend, func() error { return q.Modify(ReadyToSend, a) },
		ReadyToReceive, SQDrained, SQErrored)
	switch {
	case q.state != ReadyToSend:
	case before == ReadyToReceive:
		q.life.reads = a.MaxRdAtomic
	case before == SQErrored: // all requests have ended, and others may succeed
		q.life.failed, q.life.reported = false, false
		q.life.sends, q.life.ended = nil, 0
	}
}

func (h *verbsHost) toSQD() {
	if q, ok := anyOf(h, h.qps); ok {
		q.draining = q.state == ReadyToSend
		q.modify(true, SQDrained, func() error { return q.Modify(SQDrained, QPAttr{}) },
			ReadyToSend)
	}
}

// nextPSN returns a PSN far from those of other connections, whose packets may still be in flight.
func (w *verbsWorld) nextPSN() uint32 {
	w.connected++
	return uint32(w.connected)*0x9e3779 + uint32(w.pick(2))*0xffff00&0xff&wire.PSNMask
}

// connectOp resets a queue pair of each endpoint and connects them.
func (h *verbsHost) connectOp() {
	a, ok := anyOf(h, h.qps)
	b, ok2 := anyOf(h, h.peer.qps)
	if !ok || !ok2 || a.destroyed || b.destroyed || a.Type != b.Type {
		return
	}
	for _, q := range [...]*verbsQP{a, b} {
		q.newLife()
		q.Modify(Reset, QPAttr{})
	}
	h.connect(a, b)
}

// connect connects two queue pairs with matching attributes.
func (w *verbsWorld) connect(a, b *verbsQP) {
	mtu := oneOf[units.Bytes](w, 1024, 256, 4096)
	features := oneOf(w, 0, wire.FeatureSACK,
		wire.FeatureSACK|wire.FeatureProbe|wire.FeatureTiming|wire.FeatureECNEcho)
	timeout, retries, rnr := oneOf[uint8](w, 4, 1, 8, 10), oneOf[uint8](w, 7, 1, 0), oneOf[uint8](w,
		3, 0, 7)
	timer, reads := oneOf[uint8](w, 12, 1, 20), oneOf(w, 4, 1, 16, 0)
	psns := [2]wire.PSN{wire.PSN(w.nextPSN() & wire.PSNMask), wire.PSN(w.nextPSN() & wire.PSNMask)}
	if rnr == 7 {
		timer = max(timer, 12)
	}
	ends := [2]*verbsQP{a, b}
	for i, q := range ends {
		far := ends[1-i]
		access := RemoteWrite | RemoteRead | RemoteAtomic
		if w.chance(4) {
			access &= Access(w.byte())
		}
		x := wire.Agreement{}
		if features != 0 {
			x = wire.Agreement{Features: features, SACKBits: 64, SendTag: uint16(far.Num) + 1,
				RecvTag: uint16(q.Num) + 1}
		}
		require.NoError(w.t,
			q.Connect(QPAttr{Access: access, QKey: 0x11111111, Path: AddressVector{IP: far.host.ip},
				PathMTU: mtu, DestQPN: far.Num,
				RecvPSN: psns[1-i], MaxDestRdAtomic: reads, MinRNRTimer: timer, Extension: x,
				SendPSN: psns[i], Timeout: timeout, RetryCount: retries, RNRRetry: rnr,
				MaxRdAtomic: reads}))
		q.state = ReadyToSend
		q.life.access, q.life.reads, q.life.bounded = access, reads, rnr != 7
	}
	a.life.peer, b.life.peer = b.life, a.life
}

// standard creates one object of every kind on both endpoints, and connects queue pairs of all
// types.
func (w *verbsWorld) standard(depth int) {
	for _, h := range w.hosts {
		h.allocPD()
		pd := h.pds[0]
		h.tryRegister(pd, sourceRegion, 16384, RemoteRead)
		h.tryRegister(pd, inboxRegion, 60_000, LocalWrite)
		h.tryRegister(pd, openRegion, 8192, 0x1f)
		send, recv := h.tryCreateCQ(depth), h.tryCreateCQ(depth)
		srq := h.tryCreateSRQ(pd, 32, 4)
		h.tryCreateAH(pd, AddressVector{IP: h.peer.ip}, true)
		for i, kind := range []QPType{RC, RC, UC, UD} {
			q := &verbsQP{host: h, pd: pd, sendCQ: send, recvCQ: recv}
			if i == 1 {
				q.srq = srq
			}
			q.init = QPInit{Type: kind, MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 3, MaxRecvSGE: 3,
				MaxInline: 64, Algorithm: h.algorithm()}
			h.tryCreateQP(q)
		}
	}
	for i := range 4 {
		w.connect(w.hosts[0].qps[i], w.hosts[1].qps[i])
	}
}
