package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// inbox is a receive queue, of one side or shared by many, and the memory that is posted to it.
type inbox struct {
	node    *node
	side    *side                         // whose it is; nil: shared
	queue   *transport.SharedReceiveQueue // when it is
	number  int                           // of the node's
	arena   *arena
	slots   []slot
	free    []int
	waiting []int // slots that are posted, oldest first
	posted  int   // ever
	most    int   // receives to post in all
	depth   int
	sges    int
	lazy    units.Duration // how long after another was used up a receive is posted, at most
	coming  int            // receives that will be posted later
}

// slot is room for one message.
type slot struct {
	room   extent
	pieces pieces // as posted
}

// boundless is a number of receives that no script uses up.
const boundless = 1 << 30

// newInbox makes the receive queue of a side, or answers the shared one.
func newInbox(x *side) (*inbox, error) {
	if x.shared {
		return x.node.inbox, nil
	}
	b := &inbox{node: x.node, side: x, depth: x.recvDepth, sges: x.recvSGEs,
		lazy: x.node.traits().lazy}
	largest := 0
	for _, m := range x.peer.script {
		if m.consumes() {
			b.most++
			largest = max(largest, m.carries())
		}
	}
	switch x.session.service {
	case transport.RC:
		b.most += x.session.world.dice.IntN(3) // to be flushed
		for i, m := range x.consumers() {
			if m.wrong == wrongNever {
				b.most = i
				break
			}
		}
		if x.peer.rnrRetry != 7 {
			b.lazy = 0
		}
	case transport.UC:
		b.most = boundless
	case transport.UD:
		b.most = boundless
		largest += datagramRoom
	}
	return b, b.make(largest)
}

// newSharedInbox makes the shared receive queue of a node.
func newSharedInbox(n *node) (*inbox, error) {
	t := n.traits()
	b := &inbox{node: n, depth: t.shared, sges: 3, lazy: t.lazy, most: boundless}
	largest := 0
	for _, s := range n.world.plan.sessions {
		for _, x := range s.sides {
			if x.host != n.index || !x.shared {
				continue
			}
			for _, m := range x.peer.script {
				largest = max(largest, m.carries())
			}
		}
	}
	if err := b.make(largest); err != nil {
		return nil, err
	}
	var err error
	b.queue, err = n.endpoint.CreateSRQ(n.domain, b.depth, b.sges)
	return b, err
}

// inboxMemory is what an inbox takes at most, unless one message is longer.
const inboxMemory = 2 * units.MiB

// make makes slots for messages of a size.
func (b *inbox) make(largest int) error {
	n := b.node
	room := max(8, largest+n.world.dice.IntN(64))
	b.depth = max(1, min(b.depth, int(inboxMemory)/room))
	count := min(b.depth, b.most)
	b.number = len(n.inboxes)
	n.inboxes = append(n.inboxes, b)
	b.arena = n.newArena("inbox", count*(room+17))
	for i := range count {
		b.slots = append(b.slots, slot{room: b.arena.take(room, 17)})
		b.free = append(b.free, i)
	}
	var err error
	b.arena.mr, err = n.endpoint.RegisterMemory(n.domain, b.arena.region(), transport.LocalWrite)
	return err
}

// supply posts receives, now or a little later.
func (b *inbox) supply() {
	w := b.node.world
	for len(b.waiting)+b.coming < b.depth && b.posted+b.coming < b.most {
		if b.lazy == 0 {
			b.post()
			continue
		}
		b.coming++
		w.net.At(w.net.Now().Add(between(w.dice, 0, b.lazy)), func() {
			b.coming--
			if b.side != nil && b.side.over() || b.node.endpoint == nil ||
				b.node.inboxes[b.number] != b {
				return
			}
			b.post()
		})
	}
}

// post posts one receive.
func (b *inbox) post() {
	d := b.node.world.dice
	last := len(b.free) - 1
	i := b.free[last]
	b.free = b.free[:last]
	at := &b.slots[i]
	size, spoilt := at.room.n, false
	if x := b.side; x != nil && x.session.service == transport.RC {
		if list := x.consumers(); b.posted < len(list) { // as large as the message, or larger
			m := list[b.posted]
			size = m.carries()
			if d.chance(0.5) {
				size = between(d, size, at.room.n)
			}
			if m.wrong == wrongLength {
				size = m.size - 1
			}
			spoilt = m.wrong == wrongReceive
		}
	}
	at.pieces = cut(d, extent{at.room.in, at.room.off, size}, b.sges)
	rr := transport.RecvRequest{ID: receiveID(b.number, i), SGList: at.pieces.sges()}
	if spoilt {
		for i := range rr.SGList {
			rr.SGList[i].LKey ^= badKey
		}
	}
	b.posted++
	b.waiting = append(b.waiting, i)
	var err error
	if b.queue != nil {
		err = b.queue.PostRecv(&rr)
	} else {
		err = b.side.qp.PostRecv(&rr)
	}
	if err != nil {
		b.node.violated("%v", err)
	}
}

// cut divides an extent into at most n pieces, some of which are empty, and shuffles them.
func cut(d dice, whole extent, n int) pieces {
	var ps pieces
	for n = between(d, 1, n); n > 1; n-- {
		size := d.IntN(whole.n + 1)
		ps = append(ps, extent{whole.in, whole.off, size})
		whole.off, whole.n = whole.off+size, whole.n-size
	}
	ps = append(ps, whole)
	d.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	return ps
}

// received judges the completion of a receive.
func (b *inbox) received(i int, wc *transport.WorkCompletion) {
	x := b.node.sides[wc.QPN]
	at := -1
	for j, waiting := range b.waiting {
		if waiting == i {
			at = j
			break
		}
	}
	switch {
	case at < 0:
		b.node.violated("receive %+v completed, and is not posted", *wc)
		return
	case x == nil || b.side != nil && b.side != x:
		b.node.violated("receive %+v completed for the wrong queue pair", *wc)
		return
	case b.side != nil && at != 0:
		x.violated(nil, "receive %+v completed before an older one", *wc)
	}
	b.waiting = append(b.waiting[:at], b.waiting[at+1:]...)
	held := &b.slots[i]
	switch {
	case wc.Status != transport.StatusSuccess:
		x.missed(held, wc)
	case x.session.service == transport.RC:
		x.received(held, wc)
	default:
		x.caught(held, wc)
	}
	restore(held.room.bytes())
	b.free = append(b.free, i)
	// or it would be flushed again
	if b.side == nil || !x.over() && wc.Status != transport.StatusWRFlushErr {
		b.supply()
	}
}

// abandon puts to rest what messages had begun to fill when nobody receives any more.
func (b *inbox) abandon() {
	for _, i := range b.waiting {
		restore(b.slots[i].room.bytes())
	}
}

// emptied checks, after the queue pair was flushed, that nothing is left.
func (b *inbox) emptied() {
	if x := b.side; x != nil && len(b.waiting) > 0 {
		x.violated(nil, "%d receives were not flushed", len(b.waiting))
	}
}
