package transport

import "github.com/goroce/goroce/transport/wire"

// sealPayload copies n bytes at offset of the message into a frame, where its headers end, and
// seals the frame.
func (snd *sender) sealPayload(t *wire.Template, frame []byte, at int, w *sendWQE,
	slot, offset, n uint32) bool {
	if w.sges == 1 && w.flags&inline == 0 {
		src, ok := snd.q.pd.source(w.sge.Addr+uint64(offset), n, w.sge.LKey, 0, w.length-offset,
			offset == 0)
		if ok {
			t.SealCopy(frame, at, src)
		}
		return ok
	}
	if !snd.gather(frame[at:at+int(n)], w, slot, offset) {
		return false
	}
	t.Seal(frame)
	return true
}

// gather copies len(dst) bytes at offset of a message that is not in one piece, or inline.
func (snd *sender) gather(dst []byte, w *sendWQE, slot, offset uint32) bool {
	if w.flags&inline != 0 {
		at := int(slot)*int(snd.cold().maxInline) + int(offset)
		copy(dst, snd.q.inline[at:at+len(dst)])
		return true
	}
	pd := snd.q.pd
	return snd.eachPiece(w, slot, offset, uint32(len(dst)), func(p piece) bool {
		src, ok := pd.source(p.addr, p.n, p.key, 0, p.ahead, p.first)
		dst = dst[copy(dst, src):]
		return ok
	})
}

// eachPiece visits n bytes at offset of a request's scatter/gather list.
func (snd *sender) eachPiece(w *sendWQE, slot, offset, n uint32, visit func(piece) bool) bool {
	extra := snd.q.sges[slot*uint32(snd.cold().maxSGE-1):]
	return walkSGEs(w.sge, extra, w.sges, offset, n, visit)
}

// piece is a part of a packet's payload in one element of a list.
type piece struct {
	addr   uint64
	n, key uint32
	ahead  uint32 // bytes of the element from addr on
	first  bool   // it begins the element
	last   bool   // it ends the packet's payload
}

// walkSGEs visits n bytes at offset of a list of elements. It returns false if the list is too
// short, or visit does.
func walkSGEs(first SGE, extra []SGE, count uint8, offset, n uint32, visit func(piece) bool) bool {
	for i := uint8(0); i < count && n > 0; i++ {
		s := first
		if i > 0 {
			s = extra[i-1]
		}
		if offset >= s.Length {
			offset -= s.Length
			continue
		}
		size := min(s.Length-offset, n)
		if !visit(piece{addr: s.Addr + uint64(offset), n: size, key: s.LKey,
			ahead: s.Length - offset, first: offset == 0, last: size == n}) {
			return false
		}
		n -= size
		offset = 0
	}
	return n == 0
}

// scatterResponse writes a response into the memory that the request names. The next one follows it
// in order, or not.
func (snd *sender) scatterResponse(w *sendWQE, slot, offset uint32, payload []byte,
	more bool) bool {
	qp, pd := snd.conn(), snd.q.pd
	if w.sges == 1 {
		return pd.place(qp, true, w.sge.Addr+uint64(offset), w.sge.LKey, LocalWrite, payload, more)
	}
	return snd.eachPiece(w, slot, offset, uint32(len(payload)), func(p piece) bool {
		part := payload[:p.n]
		payload = payload[p.n:]
		return pd.place(qp, true, p.addr, p.key, LocalWrite, part, more || !p.last)
	})
}

// failResponse ends the connection: a response to the oldest request could not be written.
func (snd *sender) failResponse() {
	if snd.done != snd.posted {
		snd.conn().failAt(snd.done, StatusLocProtErr, AsyncQPFatal)
	}
}
