package transport

// stageSize is the most that is copied from or to another process at a time.
const stageSize = 64 << 10

// staging copies payloads from and to other processes with few calls. What follows in a message is
// read ahead; packets of a message that arrive one behind the other are written together. Nothing
// stays to be written after the burst in which it arrived.
type staging struct {
	reading struct {
		mr   *MemoryRegion
		addr uint64
		n    uint32
		data [stageSize]byte
	}
	writing struct {
		qp       *QueuePair // whose message it is
		response bool       // to a READ, rather than a request of the peer
		mr       *MemoryRegion
		addr     uint64
		n        uint32
		data     [stageSize]byte
	}
}

// read returns the n bytes at addr of a region. A message reads its memory in order: first marks
// the beginning, and ahead is how many bytes it has from addr on. They cannot change, or their
// order does not matter, until the message ends. What an earlier message has read is not used.
func (s *staging) read(mr *MemoryRegion, addr uint64, n, ahead uint32, first bool) ([]byte, bool) {
	s.flush()
	r := &s.reading
	if offset := addr - r.addr; !first && r.mr == mr && addr >= r.addr &&
		offset+uint64(n) <= uint64(r.n) {
		return r.data[offset : offset+uint64(n)], true
	}
	if n > stageSize {
		return nil, false
	}
	left := mr.size - (addr - mr.Addr)
	ahead = uint32(min(uint64(max(ahead, n)), left, stageSize))
	r.mr, r.addr, r.n = mr, addr, ahead
	if !mr.readForeign(r.data[:ahead], addr) {
		r.n = n // something behind it may be inaccessible
		if ahead == n || !mr.readForeign(r.data[:n], addr) {
			r.mr = nil
			return nil, false
		}
	}
	return r.data[:n], true
}

// write writes a packet's payload, with those before it of the same message at the latest when
// none follows. It returns false if the memory of this message cannot be written.
func (s *staging) write(qp *QueuePair, response bool, mr *MemoryRegion, addr uint64,
	payload []byte, more bool) bool {
	w := &s.writing
	same := w.qp == qp && w.response == response && w.mr == mr && w.addr+uint64(w.n) == addr
	if full := int(w.n)+len(payload) > stageSize; w.n > 0 && same && full {
		if !s.put() {
			return false
		}
	} else if !same {
		s.flush()
		if qp.state == Errored { // by that
			return false
		}
	}
	if w.n == 0 && !more {
		return mr.writeForeign(payload, addr)
	}
	if w.n == 0 {
		w.qp, w.response, w.mr, w.addr = qp, response, mr, addr
	}
	copy(w.data[w.n:], payload)
	if w.n += uint32(len(payload)); more {
		return true
	}
	return s.put()
}

// put writes what waits.
func (s *staging) put() bool {
	w := &s.writing
	n := w.n
	w.n = 0
	return w.mr.writeForeign(w.data[:n], w.addr)
}

// flush writes what waits. If that fails, its message is refused.
func (s *staging) flush() {
	if s == nil {
		return
	}
	w := &s.writing
	switch {
	case w.n == 0 || s.put():
	case w.response:
		w.qp.snd.failResponse()
	default:
		w.qp.rcv.failPlacement()
	}
}

func (mr *MemoryRegion) readForeign(p []byte, addr uint64) bool {
	return mr.foreign.Read(p, addr-mr.Addr)
}

func (mr *MemoryRegion) writeForeign(p []byte, addr uint64) bool {
	return mr.foreign.Write(p, addr-mr.Addr)
}
