package transport

import "github.com/goroce/goroce/transport/wire"

// readEntry is a READ or atomic that the responder is answering, or has answered and may have to
// answer again.
type readEntry struct {
	first   wire.PSN
	packets uint32 // of the response
	// first packet of the response: 0, or that which a duplicate requested
	begin  uint32
	next   uint32 // next packet of the response to send; packets: all sent
	addr   uint64
	found  uint64 // atomic: the value before
	length uint32
	rkey   uint32
	msn    uint32
	atomic bool
	done   bool // answered in full at least once
}

// readRing holds the peer's newest READs and atomics, max_dest_rd_atomic of them: a requester
// has no more outstanding, so nothing older can be requested again.
type readRing struct {
	pending uint16      // entries and repeats with packets still to send
	limit   uint16      // max_dest_rd_atomic
	head    uint32      // oldest entry
	tail    uint32      // one past the newest
	cursor  uint32      // nothing older than it is pending
	entries []readEntry // limit of them, from the first request on
	repeats *repeats
}

// repeats are parts of responses that were sent and that a requester with selective repeat misses.
// They go first, because it waits for them.
type repeats struct {
	parts [maxRepeats]readPart
	n     int
}

// readPart is packets next to end of an entry's response. They form a response of their own, from
// begin on, unless whole is true: then they repeat packets of the entire one.
type readPart struct {
	entry, begin, next, end uint32
	length                  uint32 // bytes of the entry up to the part's end
	whole                   bool
}

// span is the response that a packet is part of: it has the packets begin to end of an entry, and
// ends at byte length of the entry.
type span struct{ begin, end, length uint32 }

// span returns all of an entry, from where the peer requested it.
func (en *readEntry) span() span { return span{en.begin, en.packets, en.length} }

// span returns the response that a part belongs to.
func (part *readPart) span(en *readEntry) span {
	if part.whole {
		return span{0, en.packets, en.length}
	}
	return span{part.begin, part.end, part.length}
}

// maxRepeats is how many parts are kept; a request beyond that is ignored, as if it were
// lost.
const maxRepeats = 32

func (q *readRing) size(n int) { *q = readRing{limit: uint16(n)} }

func (q *readRing) clear() {
	q.head, q.tail, q.cursor, q.pending = 0, 0, 0, 0
	if q.repeats != nil {
		q.repeats.n = 0
	}
}

func (q *readRing) at(i uint32) *readEntry { return &q.entries[i%uint32(len(q.entries))] }

// isFull reports whether a new entry would displace one that was never answered in full: then the
// peer has more outstanding than it may.
func (q *readRing) isFull() bool {
	n := uint32(q.limit)
	return n == 0 || q.tail-q.head == n && !q.at(q.head).done
}

func (q *readRing) add(en readEntry) {
	if q.entries == nil {
		q.entries = make([]readEntry, q.limit)
	}
	if q.tail-q.head == uint32(q.limit) {
		if old := q.at(q.head); old.next < old.packets {
			q.pending-- // answer to a duplicate, for which the peer does not wait
		}
		q.forget(q.head)
		q.head++
		if int32(q.cursor-q.head) < 0 {
			q.cursor = q.head
		}
	}
	*q.at(q.tail) = en
	q.tail++
	q.pending++
}

// oldest returns the first entry with packets still to send.
func (q *readRing) oldest() *readEntry {
	for ; q.cursor != q.tail; q.cursor++ {
		if en := q.at(q.cursor); en.next < en.packets {
			return en
		}
	}
	return nil
}

// sent records that the next packet of an entry has left.
func (q *readRing) sent(en *readEntry) {
	if en.next++; en.next == en.packets {
		en.done = true
		q.pending--
	}
}

// abandon ends an entry that sends no more packets.
func (q *readRing) abandon(en *readEntry) {
	en.next = en.packets
	q.pending--
}

// repeated returns the oldest part to retransmit, or nil if there is none.
func (q *readRing) repeated() *readPart {
	if q.repeats == nil || q.repeats.n == 0 {
		return nil
	}
	return &q.repeats.parts[0]
}

// sentAgain records that the next packet of the oldest part has left.
func (q *readRing) sentAgain(part *readPart) {
	if part.next++; part.next == part.end {
		q.removePart(0)
	}
}

// repeat queues a part that was sent in full to be sent again. It returns false without room.
func (q *readRing) repeat(part readPart) bool {
	if q.repeats == nil {
		q.repeats = &repeats{}
	}
	s := q.repeats
	for _, old := range s.parts[:s.n] {
		if old.entry == part.entry && old.next <= part.next && part.end <= old.end &&
			old.length == part.length {
			return true
		}
	}
	if s.n == maxRepeats {
		return false
	}
	s.parts[s.n] = part
	s.n++
	q.pending++
	return true
}

// forget drops the repeats of entry i.
func (q *readRing) forget(i uint32) {
	for n := 0; q.repeats != nil && n < q.repeats.n; {
		if q.repeats.parts[n].entry == i {
			q.removePart(n)
		} else {
			n++
		}
	}
}

func (q *readRing) removePart(n int) {
	s := q.repeats
	copy(s.parts[n:s.n], s.parts[n+1:s.n])
	s.n--
	q.pending--
}

// sendFrom moves entry i back to packet k. It still sends what it had yet to send.
func (q *readRing) sendFrom(i, k uint32) {
	en := q.at(i)
	if k >= en.next {
		return
	}
	if en.next == en.packets {
		q.pending++
	}
	en.next = k
	if int32(i-q.cursor) < 0 {
		q.cursor = i
	}
}

// find returns the index of the entry that psn belongs to.
func (q *readRing) find(psn wire.PSN) (i uint32, ok bool) {
	for i := q.head; i != q.tail; i++ {
		if en := q.at(i); !psn.Before(en.first) && psn.Before(en.first.Add(en.packets)) {
			return i, true
		}
	}
	return 0, false
}

// rewind handles a duplicate READ request: it must request part of a READ in the ring, with
// the same key (InfiniBand spec 9.7.5.1.2). The answer is a response of its own, of as many bytes
// as requested: its first packet is FIRST or ONLY wherever in the old response it was. But a peer
// with selective repeat gets the old packets (whole). A part that extends to packets that were not
// sent yet is sent with them.
func (q *readRing) rewind(psn wire.PSN, mtuShift uint8, reth *wire.RETH, whole bool) bool {
	i, ok := q.find(psn)
	if !ok || q.at(i).atomic || q.at(i).rkey != reth.RKey.Get() {
		return false
	}
	en := q.at(i)
	k, length := uint32(psn.Sub(en.first)), reth.Len.Get()
	offset := k << mtuShift
	if reth.VA.Get() != en.addr+uint64(offset) ||
		uint64(offset)+uint64(length) > uint64(en.length) {
		return false
	}
	end := k + max(1, uint32((uint64(length)+1<<mtuShift-1)>>mtuShift))
	part := readPart{entry: i, begin: k, next: k, end: end, length: offset + length, whole: whole}
	if whole {
		part.length = en.length
	}
	if end < en.next || end == en.next && part.length != en.length {
		return q.repeat(part)
	}
	if !whole && k < en.next {
		en.begin = k
	}
	q.sendFrom(i, k)
	return true
}

// replay sends the saved result of a duplicate atomic again. It reports whether there is one.
func (q *readRing) replay(psn wire.PSN) bool {
	i, ok := q.find(psn)
	if !ok || !q.at(i).atomic {
		return false
	}
	q.sendFrom(i, 0)
	return true
}
