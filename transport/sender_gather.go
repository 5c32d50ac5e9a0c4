package transport

import "github.com/goroce/goroce/transport/wire"

// sealPayload copies n bytes at offset of the message into a frame, where its headers end, and
// seals the frame.
func (snd *sender) sealPayload(t *wire.Template, frame []byte, at int, w *sendWQE,
	slot, offset, n uint32) bool {
	if w.sges == 1 && w.flags&inline == 0 {
		src, ok := snd.q.pd.memory(w.sge.Addr+uint64(offset), n, w.sge.LKey, 0)
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
	return snd.eachPiece(w, slot, offset, uint32(len(dst)), 0, func(piece []byte) {
		n := copy(dst, piece)
		dst = dst[n:]
	})
}

// eachPiece visits n bytes at offset of a request's scatter/gather list.
func (snd *sender) eachPiece(w *sendWQE, slot, offset, n uint32, access Access,
	visit func([]byte)) bool {
	extra := snd.q.sges[slot*uint32(snd.cold().maxSGE-1):]
	return walkSGEs(snd.q.pd, w.sge, extra, w.sges, offset, n, access, visit)
}

// walkSGEs visits n bytes at offset of a list of elements. It returns false if the list is too
// short, or the key of an element does not allow the access.
func walkSGEs(pd *ProtectionDomain, first SGE, extra []SGE, count uint8, offset, n uint32,
	access Access, visit func([]byte)) bool {
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
		piece, ok := pd.memory(s.Addr+uint64(offset), size, s.LKey, access)
		if !ok {
			return false
		}
		visit(piece)
		n -= size
		offset = 0
	}
	return n == 0
}

// scatterResponse writes a response into the memory that the request names.
func (snd *sender) scatterResponse(w *sendWQE, slot, offset uint32, payload []byte) bool {
	if w.sges == 1 {
		dst, ok := snd.q.pd.memory(w.sge.Addr+uint64(offset), uint32(len(payload)), w.sge.LKey,
			LocalWrite)
		if ok {
			copy(dst, payload)
		}
		return ok
	}
	return snd.eachPiece(w, slot, offset, uint32(len(payload)), LocalWrite, func(piece []byte) {
		n := copy(piece, payload)
		payload = payload[n:]
	})
}
