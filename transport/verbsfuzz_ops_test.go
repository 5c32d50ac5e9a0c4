package transport

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/units"
)

// verbsOps maps a byte of a program to an operation. Frequent operations are listed more often.
var verbsOps = []func(h *verbsHost){
	(*verbsHost).allocPD, (*verbsHost).deallocPD, (*verbsHost).register, (*verbsHost).deregister,
	(*verbsHost).reregister, (*verbsHost).createCQ, (*verbsHost).destroyCQ, (*verbsHost).createSRQ,
	(*verbsHost).destroySRQ, (*verbsHost).armSRQ, (*verbsHost).createQP, (*verbsHost).destroyQP,
	(*verbsHost).createAH, (*verbsHost).destroyAH, (*verbsHost).toInit, (*verbsHost).toRTR,
	(*verbsHost).toRTS, (*verbsHost).toSQD, (*verbsHost).toError, (*verbsHost).toReset,
	(*verbsHost).connectOp, (*verbsHost).connectOp, (*verbsHost).cancel, (*verbsHost).notify,
	(*verbsHost).pollCQ, (*verbsHost).pollCQ, (*verbsHost).port, (*verbsHost).lose,
	(*verbsHost).postSend, (*verbsHost).postSend, (*verbsHost).postSend, (*verbsHost).postSend,
	(*verbsHost).postSend, (*verbsHost).postSend, (*verbsHost).postSend, (*verbsHost).postSend,
	(*verbsHost).postRecv, (*verbsHost).postRecv, (*verbsHost).postRecv, (*verbsHost).postSRQ,
	(*verbsHost).postSRQ, (*verbsHost).advanceTime, (*verbsHost).advanceTime,
	(*verbsHost).advanceTime,
	(*verbsHost).advanceTime, (*verbsHost).advanceTime,
}

// advanceTime advances time, so that timers expire or packets arrive.
func (h *verbsHost) advanceTime() {
	h.advance(oneOf(h.verbsWorld, 0, units.Microsecond, 2*units.Microsecond, 10*units.Microsecond,
		100*units.Microsecond, 2*units.Millisecond, 50*units.Millisecond, 1500*units.Millisecond))
}

// lose makes the link drop, or repeat, some of the next 8 frames.
func (h *verbsHost) lose() {
	h.losses, h.losing = uint64(h.byte()), uint8(h.byte()&7)
}

// port removes the buffers of a port, or its room, and restores them.
func (h *verbsHost) port() {
	b := h.byte()
	h.link.noAlloc, h.link.room = b&3 == 3, 0
	if b&12 == 12 {
		h.link.room = 3
	}
}

// put puts a new object in place of one that is destroyed, or appends it.
func put[T any](list *[]T, x T, gone func(T) bool) {
	for i, old := range *list {
		if gone(old) {
			(*list)[i] = x
			return
		}
	}
	*list = append(*list, x)
}

// full reports whether there are as many objects as a program may have.
func full[T any](list []T, gone func(T) bool) bool {
	n := 0
	for _, x := range list {
		if !gone(x) {
			n++
		}
	}
	return n >= verbsSlots
}

// anyOf draws one object of a kind, also among those that are destroyed; ok is false if there is
// none.
func anyOf[T any](h *verbsHost, list []T) (x T, ok bool) {
	i := h.byte()
	if len(list) == 0 {
		return x, false
	}
	return list[i%len(list)], true
}

func (p *verbsPD) isDestroyed() bool     { return p.destroyed }
func (c *verbsCQ) isDestroyed() bool     { return c.destroyed }
func (s *verbsSRQ) isDestroyed() bool    { return s.destroyed }
func (a *verbsAH) isDestroyed() bool     { return a.destroyed }
func (r *verbsRegion) isDestroyed() bool { return r.destroyed }
func (q *verbsQP) isDestroyed() bool     { return q.destroyed }

func (h *verbsHost) allocPD() {
	if !full(h.pds, (*verbsPD).isDestroyed) {
		put(&h.pds, &verbsPD{ProtectionDomain: h.ep.AllocPD()}, (*verbsPD).isDestroyed)
	}
}

func (h *verbsHost) deallocPD() {
	if pd, ok := anyOf(h, h.pds); ok {
		h.tryDealloc(pd)
	}
}

func (h *verbsHost) tryDealloc(pd *verbsPD) {
	switch err := pd.Dealloc(); {
	case pd.destroyed:
		h.refused(err, ErrInvalid)
	case h.usersOf(pd) > 0:
		h.refused(err, ErrBusy)
	default:
		require.NoError(h.t, err)
		pd.destroyed = true
	}
}

// usersOf counts the objects in a domain.
func (h *verbsHost) usersOf(pd *verbsPD) (n int) {
	for _, r := range h.regions {
		n += btoi(!r.destroyed && r.domain == pd)
	}
	for _, s := range h.srqs {
		n += btoi(!s.destroyed && s.pd == pd)
	}
	for _, q := range h.qps {
		n += btoi(!q.destroyed && q.pd == pd)
	}
	for _, a := range h.ahs {
		n += btoi(!a.destroyed && a.pd == pd)
	}
	return n
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// register registers a region of any kind and length, with any rights that its kind may have.
func (h *verbsHost) register() {
	pd, ok := anyOf(h, h.pds)
	if !ok || full(h.regions, (*verbsRegion).isDestroyed) {
		return
	}
	kind, n := regionKind(h.pick(3)), oneOf(h.verbsWorld, 4096, 0, 1, 7, 8, 255, 4097, 20_001)
	access := [...]Access{sourceRegion: RemoteRead, inboxRegion: LocalWrite, openRegion: 0xff}[kind]
	if b := h.byte(); b&1 != 0 {
		access &= Access(b >> 1)
	}
	h.tryRegister(pd, kind, n, access)
}

func (h *verbsHost) tryRegister(pd *verbsPD, kind regionKind, n int, access Access) *verbsRegion {
	r, err := h.newRegion(pd, kind, n, access)
	switch {
	case pd.destroyed, access&(RemoteWrite|RemoteAtomic) != 0 && access&LocalWrite == 0:
		h.refused(err, ErrInvalid)
		return nil
	}
	require.NoError(h.t, err)
	if kind == openRegion && access&LocalWrite == 0 {
		r.last = bytes.Clone(r.mem)
	}
	h.replace(r)
	return r
}

// replace replaces a region that is gone, after a last check of it.
func (h *verbsHost) replace(r *verbsRegion) {
	for i, old := range h.regions {
		if old.destroyed && old.placed == 0 {
			old.check()
			h.regions[i] = r
			return
		}
	}
	h.regions = append(h.regions, r)
}

func (h *verbsHost) deregister() {
	if r, ok := anyOf(h, h.regions); ok {
		h.end(r)
	}
}

func (h *verbsHost) end(r *verbsRegion) {
	r.Deregister()
	require.False(h.t, r.Valid(), "a region that was deregistered")
	r.ended()
}

// reregister deregisters a region and registers the same memory again, at the same address.
func (h *verbsHost) reregister() {
	r, ok := anyOf(h, h.regions)
	if !ok || r.placed > 0 || r.kind != openRegion {
		return
	}
	h.end(r)
	r.check()
	again := *r
	again.last = nil
	var err error
	again.MemoryRegion, err = h.ep.RegisterMemoryAt(r.domain.ProtectionDomain, r.mem, r.Addr, 0x1f)
	if r.domain.destroyed {
		h.refused(err, ErrInvalid)
		return
	}
	require.NoError(h.t, err)
	require.NotEqual(h.t, r.LKey, again.LKey)
	again.destroyed = false
	for i := range h.regions {
		if h.regions[i] == r {
			h.regions[i] = &again
		}
	}
}

func (h *verbsHost) createCQ() {
	if !full(h.cqs, (*verbsCQ).isDestroyed) {
		h.tryCreateCQ(oneOf(h.verbsWorld, 1024, 1, 3, 16, 0, -1, endpoint.MaxCQDepth+1, 256))
	}
}

func (h *verbsHost) tryCreateCQ(depth int) *verbsCQ {
	cq, err := h.ep.CreateCQ(depth)
	if depth < 1 || depth > endpoint.MaxCQDepth {
		h.refused(err, ErrInvalid)
		return nil
	}
	require.NoError(h.t, err)
	c := &verbsCQ{CompletionQueue: cq, depth: depth}
	put(&h.cqs, c, (*verbsCQ).isDestroyed)
	return c
}

func (h *verbsHost) destroyCQ() {
	if cq, ok := anyOf(h, h.cqs); ok {
		h.tryDestroyCQ(cq)
	}
}

func (h *verbsHost) tryDestroyCQ(cq *verbsCQ) {
	used := false
	for _, q := range h.qps {
		used = used || !q.destroyed && (q.sendCQ == cq || q.recvCQ == cq)
	}
	switch err := cq.Destroy(); {
	case cq.destroyed:
		h.refused(err, ErrInvalid)
	case used:
		h.refused(err, ErrBusy)
	default:
		require.NoError(h.t, err)
		require.Zero(h.t, cq.Len())
		cq.destroyed = true
	}
}

// notify arms a queue; its function is called at most once.
func (h *verbsHost) notify() {
	cq, ok := anyOf(h, h.cqs)
	if !ok {
		return
	}
	calls := 0
	cq.OnEvent(func(c *CompletionQueue) {
		calls++
		require.Equal(h.t, 1, calls)
		require.Same(h.t, cq.CompletionQueue, c)
		require.Positive(h.t, c.Len())
	})
	cq.RequestNotify(h.chance(2))
}

// pollCQ polls up to 7 completions, or all; the oracle has seen them already.
func (h *verbsHost) pollCQ() {
	cq, ok := anyOf(h, h.cqs)
	if !ok {
		return
	}
	wcs := make([]WorkCompletion, h.pick(8))
	if len(wcs) == 7 {
		wcs = make([]WorkCompletion, max(cq.depth, 7))
	}
	n := cq.Poll(wcs)
	if cq.destroyed {
		require.Zero(h.t, n)
		return
	}
	require.Equal(h.t, min(len(wcs), len(cq.seen)), n)
	require.True(h.t, slices.Equal(cq.seen[:n], wcs[:n]))
	cq.seen = cq.seen[n:]
	require.Len(h.t, cq.seen, cq.Len())
}

func (h *verbsHost) createSRQ() {
	pd, ok := anyOf(h, h.pds)
	if !ok || full(h.srqs, (*verbsSRQ).isDestroyed) {
		return
	}
	h.tryCreateSRQ(pd, oneOf(h.verbsWorld, 32, 1, 3, 0, -1, endpoint.MaxQueueDepth+1, 8),
		oneOf(h.verbsWorld, 4, 0, 1, endpoint.MaxSGE, endpoint.MaxSGE+1, -1))
}

func (h *verbsHost) tryCreateSRQ(pd *verbsPD, depth, sges int) *verbsSRQ {
	srq, err := h.ep.CreateSRQ(pd.ProtectionDomain, depth, sges)
	if pd.destroyed || depth < 1 || depth > endpoint.MaxQueueDepth || sges > endpoint.MaxSGE {
		h.refused(err, ErrInvalid)
		return nil
	}
	require.NoError(h.t, err)
	s := &verbsSRQ{SharedReceiveQueue: srq, pd: pd, sges: max(sges, 1)}
	put(&h.srqs, s, (*verbsSRQ).isDestroyed)
	return s
}

func (h *verbsHost) destroySRQ() {
	if s, ok := anyOf(h, h.srqs); ok {
		h.tryDestroySRQ(s)
	}
}

func (h *verbsHost) tryDestroySRQ(s *verbsSRQ) {
	used := false
	for _, q := range h.qps {
		used = used || !q.destroyed && q.srq == s
	}
	switch err := s.Destroy(); {
	case s.destroyed:
		h.refused(err, ErrInvalid)
	case used:
		h.refused(err, ErrBusy)
	default:
		require.NoError(h.t, err)
		s.destroyed = true
		h.vanish(s.posted)
		s.posted = nil
	}
}

func (h *verbsHost) armSRQ() {
	if s, ok := anyOf(h, h.srqs); ok {
		s.armed = oneOf(h.verbsWorld, 1, 2, 5, 100, 0, -1)
		s.Arm(s.armed)
	}
}

func (h *verbsHost) createAH() {
	pd, ok := anyOf(h, h.pds)
	if !ok || full(h.ahs, (*verbsAH).isDestroyed) {
		return
	}
	path, fits := h.path(h.peer.ip)
	h.tryCreateAH(pd, path, fits)
}

func (h *verbsHost) tryCreateAH(pd *verbsPD, path AddressVector, fits bool) *verbsAH {
	ah, err := h.ep.CreateAH(pd.ProtectionDomain, path)
	if pd.destroyed || !fits {
		h.refused(err, nil)
		return nil
	}
	require.NoError(h.t, err)
	a := &verbsAH{AddressHandle: ah, pd: pd}
	put(&h.ahs, a, (*verbsAH).isDestroyed)
	return a
}

func (h *verbsHost) destroyAH() {
	if a, ok := anyOf(h, h.ahs); ok {
		a.Destroy()
		a.destroyed = true
	}
}

// path draws a path to an address, and returns whether there is one.
func (h *verbsHost) path(ip netip.Addr) (p AddressVector, fits bool) {
	p = AddressVector{IP: ip, TrafficClass: oneOf[uint8](h.verbsWorld, 0, 2, 0x68, 3),
		HopLimit: uint8(h.pick(2))}
	switch h.pick(16) {
	case 1:
		p.IP = netip.Addr{}
	case 2:
		p.IP = netip.MustParseAddr("192.0.2.1") // on no prefix
	case 3:
		p.IP = netip.MustParseAddr("224.0.0.1")
	case 4:
		p.Source = h.peer.ip
	case 5:
		p.FlowLabel = 1 << 20
	case 6:
		p.IP = netip.MustParseAddr("10.0.0.9") // unused address
		return p, true
	case 7:
		p.IP = h.ip
		return p, true
	case 8:
		p.Source, p.IP = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::2")
	default:
		return p, true
	}
	return p, false
}

// algorithm draws a window.
func (h *verbsHost) algorithm() cc.Algorithm {
	switch h.pick(4) {
	case 1:
		return &cc.Fixed{Window: 100}
	case 2:
		return &cc.Fixed{Window: 5000}
	case 3:
		return &cc.Fixed{Window: endpoint.DefaultWindow, Rate: units.Gbps}
	}
	return nil
}
