package fabric

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// Link is a cable between two nodes, the same in both directions.
type Link struct {
	Rate  units.BitRate
	Delay units.Duration // propagation
}

// Port is one end of a link: the queues of what leaves, and the wire to the other end.
type Port struct {
	net   *Network
	id    int32
	index int // at its node
	peer  *Port
	sw    *Switch // whose it is: this,
	host  *Host   // or this

	rate   units.BitRate
	byteAt units.Duration // time of a byte; 0 when it is no whole number of picoseconds
	delay  units.Duration // until the far end has a frame

	queues [MaxQueues]queue
	levels []uint16 // queues served alike, as bits, the first to be served first
	turn   uint8    // the queue that deficit round robin is at
	filled uint16   // queues with something in them
	paused uint16   // queues that the peer has paused
	until  [MaxQueues]units.Time

	first  frameList // pause frames
	wire   frameList // frames on their way
	freeAt units.Time
	wakeAt units.Time // when the port has asked to look again; never otherwise

	asking uint16            // queues that this port has told its peer to pause
	storm  uint16            // those without reason
	asked  [MaxQueues]uint32 // how often

	groups [MaxQueues]group // what came in here and is still in the switch
	faults *linkFaults
	stats  PortStats
}

// PortStats counts what a port sent.
type PortStats struct {
	Frames, Bytes uint64 // all queues and pause frames; bytes with preamble and gap
	Pauses        uint64 // pause frames sent
	Lost          uint64 // by faults or a link that is down
}

const never = units.Time(units.Forever)

// Peer answers the other end of the link.
func (p *Port) Peer() *Port { return p.peer }

// Rate answers the rate of the link.
func (p *Port) Rate() units.BitRate { return p.rate }

// Stats answers the counters of the port; QueueStats those of one queue.
func (p *Port) Stats() PortStats { return p.stats }

// QueueStats answers the counters of one queue.
func (p *Port) QueueStats(queue int) QueueStats {
	s := p.queues[queue].stats
	if p.paused>>queue&1 != 0 {
		s.Paused -= max(0, p.until[queue].Sub(p.net.now)) // which was counted with the pause
	}
	return s
}

// QueueLen answers what waits in a queue.
func (p *Port) QueueLen(queue int) units.Bytes { return p.queues[queue].bytes }

// Watch calls f whenever the length of the queue changes.
func (p *Port) Watch(queue int, f func(at units.Time, length units.Bytes)) {
	p.queues[queue].watch = append(p.queues[queue].watch, f)
}

// configure orders the queues by level.
func (p *Port) configure(qs *Queues) {
	levels := map[int]uint16{}
	top := 0
	for i := range qs {
		q := &p.queues[i]
		q.config = &qs[i]
		q.weight = int64(max(q.config.Weight, 1))
		level := q.config.Level
		if level == 0 {
			level = i
		}
		levels[level] |= 1 << i
		top = max(top, level)
		if q.config.Bolt.Frame > 0 {
			q.bolt.configure(&q.config.Bolt, p)
		}
	}
	p.limit(qs)
	p.levels = p.levels[:0]
	for level := top; level >= 0; level-- {
		if levels[level] != 0 {
			p.levels = append(p.levels, levels[level])
		}
	}
}

// serialize answers how long n bytes take on the link.
func (p *Port) serialize(n int32) units.Duration {
	if p.byteAt != 0 {
		return p.byteAt * units.Duration(n)
	}
	return p.rate.Duration(units.Bytes(n))
}

// enqueue puts a frame into a queue of the port.
func (p *Port) enqueue(f *frame, to uint8) {
	q := &p.queues[to]
	q.push(f)
	q.count++
	q.bytes += units.Bytes(f.size)
	p.filled |= 1 << to
	if q.bytes > q.stats.Longest {
		q.stats.Longest = q.bytes
	}
	if q.watch != nil {
		q.tell(p.net.now)
	}
}

func (q *queue) tell(now units.Time) {
	for _, f := range q.watch {
		f(now, q.bytes)
	}
}

// kick makes the port send, if it does not already.
func (p *Port) kick() {
	if p.freeAt.After(p.net.now) {
		p.lookAgain(p.freeAt)
		return
	}
	p.transmit()
}

// lookAgain makes the port look for a frame at a time, or before.
func (p *Port) lookAgain(at units.Time) {
	if at.Before(p.wakeAt) {
		p.wakeAt = at
		p.net.schedule(at, transmits, p.id)
	}
}

// transmit puts the next frame on the wire, if there is one that may go.
func (p *Port) transmit() {
	n := p.net
	now := n.now
	var f *frame
	if p.first.head != nil {
		f = p.first.pop()
		p.stats.Pauses++
	} else if p.filled == 0 {
		return
	} else if f = p.pick(now); f == nil {
		return
	}
	took := p.serialize(f.wire)
	if p.host != nil {
		took = p.host.fetch(f, took)
	}
	p.freeAt = now.Add(took)
	f.at = p.freeAt.Add(p.delay)
	if p.wire.head == nil {
		n.schedule(f.at, arrives, p.id)
	}
	p.wire.push(f)
	p.stats.Frames++
	p.stats.Bytes += uint64(f.wire)
	if p.filled != 0 || p.first.head != nil {
		p.lookAgain(p.freeAt)
	}
}

// pick takes out the frame whose turn it is.
func (p *Port) pick(now units.Time) *frame {
	for _, level := range p.levels {
		may := level & p.filled
		if may != 0 && p.paused != 0 {
			may = p.unpaused(may, now)
		}
		if may == 0 {
			continue
		}
		at := bits.TrailingZeros16(may)
		if may&(may-1) != 0 {
			at = p.robin(may)
		}
		if l := p.queues[at].limit; l != nil {
			if l.readyAt.After(now) {
				p.lookAgain(l.readyAt)
				continue
			}
			l.spend(p.queues[at].head.wire, now)
		}
		return p.dequeue(at, now)
	}
	return nil
}

// quantum is what deficit round robin gives a queue of weight 1 in one turn: no less than the
// longest frame, so that each turn sends something.
const quantum = 4400

// robin chooses among queues of one level (deficit round robin).
func (p *Port) robin(may uint16) int {
	for {
		q := &p.queues[p.turn]
		if may>>p.turn&1 != 0 && q.deficit >= int64(q.head.wire) {
			q.deficit -= int64(q.head.wire)
			return int(p.turn)
		}
		p.turn = (p.turn + 1) % MaxQueues
		for may>>p.turn&1 == 0 {
			p.turn = (p.turn + 1) % MaxQueues
		}
		p.queues[p.turn].deficit += quantum * p.queues[p.turn].weight
	}
}

// dequeue takes the head of a queue out of it, and out of the buffer.
func (p *Port) dequeue(at int, now units.Time) *frame {
	q := &p.queues[at]
	f := q.pop()
	if q.head == nil {
		p.filled &^= 1 << at
		q.deficit = 0 // it leaves the round
	}
	if p.sw != nil {
		if e := q.config.ecn(f); e.AtDequeue && e.Kmax > 0 {
			p.sw.consider(q, f, e)
		}
	}
	q.count--
	q.bytes -= units.Bytes(f.size)
	q.stats.Frames++
	q.stats.Bytes += uint64(f.size)
	if q.watch != nil {
		q.tell(now)
	}
	if p.sw != nil {
		p.sw.leave(p, q, f)
	} else {
		p.host.left(p, at)
	}
	return f
}

// unpaused answers those of the queues that may send now.
func (p *Port) unpaused(may uint16, now units.Time) uint16 {
	for left := may; left != 0; left &= left - 1 {
		at := bits.TrailingZeros16(left)
		priority := at
		if p.host != nil { // its queues are classes
			priority = int(p.queues[at].head.prio)
		}
		if p.paused>>priority&1 == 0 {
			continue
		}
		if p.until[priority].After(now) {
			may &^= 1 << at
		} else {
			p.paused &^= 1 << priority
		}
	}
	return may
}
