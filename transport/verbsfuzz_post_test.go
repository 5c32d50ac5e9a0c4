package transport

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport/wire"
)

// verbsPost is a work request that was accepted.
type verbsPost struct {
	id        uint64
	life      *verbsLife // nil for a receive of a shared queue
	srq       *verbsSRQ
	recv      bool
	op        Op
	signaled  bool
	length    int
	imm       uint32
	data      []byte // that a message carries, or a READ returns; nil: unknown to the oracle
	area      *area  // where a receive, or a READ, is written; nil: somewhere else
	target    *verbsRegion
	offset    uint64 // in target
	toQPN     wire.QPN
	done      bool
	status    Status
	cancelled bool
}

// end ends a request, and frees its memory.
func (p *verbsPost) end() {
	p.done = true
	if p.area != nil {
		p.area.release()
		p.area = nil
	}
}

// elements draws a scatter/gather list: of any regions, also outside their bounds, or with bad
// keys. It returns the list and its length.
func (h *verbsHost) elements(most int) (list []SGE, total uint64) {
	n := h.pick(min(most, 4) + 2)
	for range n {
		r, ok := anyOf(h, h.regions)
		s := SGE{Addr: addressBase, Length: uint32(h.pick(64)), LKey: 77}
		if ok {
			at := h.pick(len(r.mem) + 1)
			s = r.SGE(at, h.byte()*h.byte()%(len(r.mem)-at+1))
		}
		switch h.pick(24) {
		case 1:
			s.Length = uint32(len(r.memory()) + 1)
		case 2:
			s.Addr -= 8192
		case 3:
			s.LKey ^= 1
		case 4:
			s.Length = maxMessage
		case 5:
			s.Length = 1<<32 - 1
		case 6:
			s.Addr = 1<<64 - 1
		}
		list, total = append(list, s), total+uint64(s.Length)
	}
	return list, total
}

func (r *verbsRegion) memory() []byte {
	if r == nil {
		return nil
	}
	return r.mem
}

// find draws a live region of a kind, or returns nil if there is none.
func (h *verbsHost) find(kind regionKind, pd *verbsPD) *verbsRegion {
	i := h.byte()
	for n := range h.regions {
		if r := h.regions[(i+n)%len(h.regions)]; r.kind == kind && !r.destroyed && r.domain == pd {
			return r
		}
	}
	return nil
}

// source draws the source of a message: most often one piece, or several, of a sourceRegion.
func (h *verbsHost) source(q *verbsQP, wr *WorkRequest, p *verbsPost) (fits bool) {
	how := h.byte()
	if how&3 == 3 {
		wr.Inline = true
		wr.Data = make([]byte, oneOf(h.verbsWorld, 8, 0, 1, 63, 64, 65, endpoint.MaxInline,
			endpoint.MaxInline+1))
		fill(wr.Data, byte(how))
		p.length, p.data = len(wr.Data), bytes.Clone(wr.Data)
		return len(wr.Data) <= q.init.MaxInline && wr.Op < OpRead
	}
	most := max(q.init.MaxSendSGE, 1)
	r := h.find(sourceRegion, q.pd)
	if how&28 == 28 || r == nil {
		list, total := h.elements(most)
		wr.SGList, p.length = list, int(total)
		return len(list) <= most && total <= maxMessage
	}
	p.data = []byte{}
	for range 1 + h.pick(min(most, 3)) {
		at := h.pick(len(r.mem) + 1)
		n := min(h.byte()*(1+h.byte()&15), len(r.mem)-at)
		wr.SGList = append(wr.SGList, r.SGE(at, n))
		p.data = append(p.data, r.mem[at:at+n]...)
	}
	p.length = len(p.data)
	return true
}

// destination draws where a READ or atomic of n bytes is written.
func (h *verbsHost) destination(q *verbsQP, wr *WorkRequest, p *verbsPost) (fits bool) {
	how, most := h.byte(), max(q.init.MaxSendSGE, 1)
	p.length = 8
	if wr.Op == OpRead {
		p.length = h.byte() * (1 + h.byte()&15)
	}
	r := h.find(inboxRegion, q.pd)
	if how&7 == 7 || r == nil {
		list, total := h.elements(most)
		for i := range list { // it must not write to another request's area
			if h.isInbox(list[i].LKey) {
				list[i].LKey = 3
			}
		}
		wr.SGList, p.length = list, int(total)
		return len(list) <= most && total <= maxMessage && (wr.Op == OpRead || total == 8)
	}
	p.area, wr.SGList = r.reserve(p.length, 1+h.pick(min(most, 3)))
	if wr.SGList == nil {
		wr.SGList = []SGE{{Length: uint32(p.length)}}
	}
	return true
}

func (h *verbsHost) isInbox(key uint32) bool {
	for _, r := range h.regions {
		if r.kind == inboxRegion && r.LKey == key {
			return true
		}
	}
	return false
}

// suited returns a region that allows an operation, or r if there is none.
func (h *verbsHost) suited(op Op, r *verbsRegion) *verbsRegion {
	for _, x := range append([]*verbsRegion{r}, h.regions...) {
		switch {
		case x.destroyed:
		case op == OpRead && x.access&RemoteRead != 0,
			op != OpRead && x.access&RemoteWrite != 0 && x.access&RemoteAtomic != 0:
			return x
		}
	}
	return r
}

// remote draws the peer's memory that a request names.
func (h *verbsHost) remote(wr *WorkRequest, p *verbsPost) {
	r, ok := anyOf(h.peer, h.peer.regions)
	if ok && !h.chance(8) {
		r = h.peer.suited(wr.Op, r)
	}
	at := uint64(h.byte()*h.byte()) &^ 7
	switch {
	case !ok:
		wr.RKey, wr.RemoteAddr = uint32(h.byte()), at
		return
	case p.length > len(r.mem) || at > uint64(len(r.mem)-p.length):
		at = 0
	}
	wr.RKey, wr.RemoteAddr = r.RKey, r.Addr+at
	p.target, p.offset = r, at
	switch h.pick(32) {
	case 1:
		wr.RemoteAddr++
		p.offset++
	case 2:
		wr.RKey ^= 1 << 31
		p.target = nil
	case 3:
		wr.RemoteAddr -= 8192
		p.offset -= 8192
	}
	if wr.Op == OpRead && r.kind == sourceRegion && p.target == r && p.within() {
		p.data = bytes.Clone(r.mem[p.offset : p.offset+uint64(p.length)])
	}
}

// within reports whether the target contains what the request names.
func (p *verbsPost) within() bool {
	size := uint64(len(p.target.mem))
	return p.offset <= size && uint64(p.length) <= size-p.offset
}

// postSend posts any operation; most are valid.
func (h *verbsHost) postSend() {
	q, ok := anyOf(h, h.qps)
	if !ok {
		return
	}
	h.nextID++
	wr := WorkRequest{ID: h.nextID, Op: Op(h.pick(9)), Imm: uint32(h.nextID)}
	if wr.Op == OpLocalInv { // sender_local_test.go
		wr.Op = OpRecv // which no send queue takes
	}
	p := &verbsPost{id: wr.ID, life: q.life, op: wr.Op, imm: wr.Imm}
	flags := h.byte()
	wr.Signaled, wr.Fence, wr.Solicited = flags&1 != 0, flags&2 != 0, flags&4 != 0
	p.signaled = wr.Signaled || q.init.SignalAll
	fits := wr.Op < sendOps
	if wr.Op == OpRead || wr.Op.isAtomic() {
		fits = h.destination(q, &wr, p) && fits
		wr.CompareAdd, wr.Swap = uint64(h.byte()), 3
	} else {
		fits = h.source(q, &wr, p) && fits
	}
	h.remote(&wr, p)
	if wr.Op == OpSendInv {
		wr.InvalidateKey = wr.RKey
		p.imm = wr.RKey
	}
	switch q.Type {
	case RC:
		fits = fits && (!wr.Op.hasResponse() || q.life.reads > 0) && (wr.Op != OpRead ||
			p.length <= maxReadPSNs*int(max(q.mtu, 1)))
	case UC:
		fits = fits && !wr.Op.hasResponse() && wr.Op != OpSendInv
	case UD:
		fits = h.datagram(q, &wr, p) && fits
	}
	room := q.SendRoom()
	if q.state >= SQErrored && !q.destroyed {
		fits = wr.Op < sendOps && !q.init.SendCQ.isFull()
	} else {
		fits = fits && room > 0
	}
	err := q.PostSend(&wr)
	h.accepted(q, p, fits, err)
	if !q.destroyed && q.state < SQErrored {
		require.Equal(h.t, room-btoi(err == nil), q.SendRoom())
	}
}

// datagram draws a destination.
func (h *verbsHost) datagram(q *verbsQP, wr *WorkRequest, p *verbsPost) (fits bool) {
	to, ok := anyOf(h, h.peer.qps)
	wr.RemoteQPN, wr.RemoteQKey = 99, oneOf[uint32](h.verbsWorld, 0x11111111, 0x11111111, 1<<31, 5)
	if ok {
		wr.RemoteQPN = to.Num
	}
	if h.chance(16) {
		wr.RemoteQPN = 1 << 24
	}
	p.toQPN = wr.RemoteQPN
	ah, ok := anyOf(h, h.ahs)
	if ok {
		wr.AH = ah.AddressHandle
	}
	return ok && !ah.destroyed && wr.RemoteQPN < 1<<24 && p.length <= int(q.mtu) &&
		wr.Op <= OpSendImm
}

// accepted compares the result of a post with what is expected, and records the request.
func (h *verbsHost) accepted(q *verbsQP, p *verbsPost, fits bool, err error) {
	switch {
	case q.destroyed || q.state < ReadyToSend || !fits:
		h.refused(err, nil)
	default:
		require.NoError(h.t, err)
	}
	if err != nil {
		p.end()
		return
	}
	h.posts[p.id] = p
	q.life.sends = append(q.life.sends, p)
}

// postRecv posts a receive, most often with an area of its own in an inbox.
func (h *verbsHost) postRecv() {
	q, ok := anyOf(h, h.qps)
	if !ok {
		return
	}
	p, rr, fits := h.receive(q.pd, max(q.init.MaxRecvSGE, 1))
	p.life = q.life
	room := !q.destroyed && int(q.rcv.queue.len()) < q.init.MaxRecvWR
	full := q.init.RecvCQ.isFull()
	err := q.PostRecv(&rr)
	switch {
	case q.srq != nil || q.state == Reset:
		h.refused(err, nil)
	case q.state == Errored && full:
		h.refused(err, ErrQueueFull)
	case q.state == Errored:
		require.NoError(h.t, err)
	case !fits || !room:
		h.refused(err, nil)
	default:
		require.NoError(h.t, err)
	}
	if err != nil {
		p.end()
		return
	}
	h.posts[p.id] = p
	q.life.recvs = append(q.life.recvs, p)
}

func (h *verbsHost) postSRQ() {
	s, ok := anyOf(h, h.srqs)
	if !ok {
		return
	}
	p, rr, fits := h.receive(s.pd, s.sges)
	p.srq = s
	room := s.queue.len() < s.queue.limit
	err := s.PostRecv(&rr)
	if s.destroyed || !fits || !room {
		h.refused(err, nil)
		p.end()
		return
	}
	require.NoError(h.t, err)
	h.posts[p.id] = p
	s.posted = append(s.posted, p)
}

// receive draws a receive.
func (h *verbsHost) receive(pd *verbsPD, most int) (p *verbsPost, rr RecvRequest, fits bool) {
	h.nextID++
	p, rr.ID = &verbsPost{id: h.nextID, recv: true}, h.nextID
	how := h.byte()
	r := h.find(inboxRegion, pd)
	if how&7 != 7 && r != nil {
		p.length = h.byte() * (1 + h.byte()&15)
		if p.area, rr.SGList = r.reserve(p.length, 1+h.pick(min(most, 3))); rr.SGList != nil {
			return p, rr, true
		}
	}
	list, total := h.elements(most)
	for i := range list {
		if h.isInbox(list[i].LKey) {
			list[i].LKey = 3
		}
	}
	p.length, rr.SGList = int(total), list
	return p, rr, len(list) <= most && total <= maxMessage
}

// cancel cancels requests that have not left.
func (h *verbsHost) cancel() {
	q, ok := anyOf(h, h.qps)
	if !ok {
		return
	}
	h.cancelling = q
	n := q.Admission().CancelWaiting()
	h.checkChanges()
	h.cancelling = nil
	if !q.destroyed && !q.life.lossy {
		taken := 0
		for _, p := range q.life.sends {
			taken += btoi(p.cancelled)
		}
		require.GreaterOrEqual(h.t, taken, n)
	}
}
