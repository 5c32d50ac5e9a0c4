package transport

import "github.com/goroce/goroce/transport/wire"

// readEntry is a READ or atomic that the responder answers, or has answered and might have to
// answer again.
type readEntry struct {
	first   wire.PSN
	packets uint32 // of the response
	next    uint32 // packet of the response to send next; packets: all sent
	addr    uint64
	found   uint64 // atomic: the value before
	length  uint32
	rkey    uint32
	msn     uint32
	atomic  bool
	done    bool // answered in full at least once
}

// readRing remembers the newest READs and atomics of the peer, as many as max_dest_rd_atomic: a
// requester has no more outstanding, so nothing older can be asked for again.
type readRing struct {
	entries []readEntry
	head    uint32 // oldest remembered
	tail    uint32 // one past the newest
	cursor  uint32 // nothing older than it is pending
	pending int    // entries with packets still to send
}

func (q *readRing) size(n int) { *q = readRing{entries: make([]readEntry, n)} }

func (q *readRing) clear() { q.head, q.tail, q.cursor, q.pending = 0, 0, 0, 0 }

func (q *readRing) at(i uint32) *readEntry { return &q.entries[i%uint32(len(q.entries))] }

// full says whether a new entry would push out one that was never answered in full: the peer has
// more outstanding than it may.
func (q *readRing) full() bool {
	n := uint32(len(q.entries))
	return n == 0 || q.tail-q.head == n && !q.at(q.head).done
}

func (q *readRing) add(en readEntry) {
	if q.tail-q.head == uint32(len(q.entries)) {
		if old := q.at(q.head); old.next < old.packets {
			q.pending-- // a duplicate's answer, which nobody waits for
		}
		q.head++
		if int32(q.cursor-q.head) < 0 {
			q.cursor = q.head
		}
	}
	*q.at(q.tail) = en
	q.tail++
	q.pending++
}

// oldest answers the first entry with packets still to send.
func (q *readRing) oldest() *readEntry {
	for ; q.cursor != q.tail; q.cursor++ {
		if en := q.at(q.cursor); en.next < en.packets {
			return en
		}
	}
	return nil
}

// sent notes that the next packet of an entry has left.
func (q *readRing) sent(en *readEntry) {
	if en.next++; en.next == en.packets {
		en.done = true
		q.pending--
	}
}

// again makes entry i send from packet k on; what it was going to send anyway stays so.
func (q *readRing) again(i, k uint32) {
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

// find answers the index of the entry that psn belongs to.
func (q *readRing) find(psn wire.PSN) (i uint32, ok bool) {
	for i := q.head; i != q.tail; i++ {
		if en := q.at(i); !psn.Before(en.first) && psn.Before(en.first.Add(en.packets)) {
			return i, true
		}
	}
	return 0, false
}

// rewind answers a duplicate READ request: it must ask for a tail of one that we remember, by the
// same key (InfiniBand spec 9.7.5.1.2).
func (q *readRing) rewind(psn wire.PSN, mtuShift uint8, addr uint64, length, rkey uint32) bool {
	i, ok := q.find(psn)
	if !ok || q.at(i).atomic || q.at(i).rkey != rkey {
		return false
	}
	en := q.at(i)
	k := uint32(psn.Sub(en.first))
	offset := k << mtuShift
	if addr != en.addr+uint64(offset) || uint64(offset)+uint64(length) > uint64(en.length) {
		return false
	}
	q.again(i, k)
	return true
}

// replay answers a duplicate atomic from the saved result.
func (q *readRing) replay(psn wire.PSN) bool {
	i, ok := q.find(psn)
	if !ok || !q.at(i).atomic {
		return false
	}
	q.again(i, 0)
	return true
}
