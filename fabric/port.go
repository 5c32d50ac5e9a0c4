package fabric

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// Link is a link between two nodes with equal directions.
type Link struct {
	Rate  units.BitRate
	Delay units.Duration // propagation
}

// Port is one end of a link, with the egress queues and the wire to the other end. Every frame that
// leaves needs the fields before queues, which therefore are in adjacent cache lines.
type Port struct {
	net        *Network
	peer       *Port
	sw         *Switch // its node, or nil
	host       *Host   // its node, or nil
	id         int32
	index      int32  // among the ports of its node
	robinQueue uint8  // current queue of deficit round robin
	filled     uint16 // queues that are not empty
	paused     uint16 // queues paused by the peer
	freeAt     units.Time
	wakeAt     units.Time // time of the scheduled transmit event, or never

	wire   flights        // frames in flight
	first  frameList      // pause frames
	byteAt units.Duration // time of a byte; 0 if not a whole number of picoseconds
	delay  units.Duration // from the end of transmission to delivery
	stats  PortStats
	levels []uint16 // bit sets of the queues of each level, the highest level first
	faults *linkFaults
	rate   units.BitRate

	queues [MaxQueues]queue
	until  [MaxQueues]units.Time // end of the pause of each queue
	groups [MaxQueues]group      // buffered frames that came in at this port

	pausing    uint16            // queues that this port has paused at its peer
	storm      uint16            // queues of a pause storm
	pauseCalls [MaxQueues]uint32 // number of pauses
}

// PortStats counts the frames that a port sent.
type PortStats struct {
	Frames, Bytes uint64 // of all queues, and pause frames; bytes with preamble and gap
	Pauses        uint64 // pause frames sent
	Lost          uint64 // lost by faults or because the link was down
}

const never = units.Time(units.Forever)

// Peer returns the other end of the link.
func (p *Port) Peer() *Port { return p.peer }

// Rate returns the rate of the link.
func (p *Port) Rate() units.BitRate { return p.rate }

// Stats returns the counters of the port.
func (p *Port) Stats() PortStats { return p.stats }

// QueueStats returns the counters of one queue.
func (p *Port) QueueStats(queue int) QueueStats {
	s := p.queues[queue].stats
	if p.paused>>queue&1 != 0 {
		s.Paused -= max(0, p.until[queue].Sub(p.net.now)) // counted in full when the pause started
	}
	return s
}

// QueueLen returns the length of a queue in bytes.
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
		q.marks = q.config.ECN.Kmax > 0 || len(q.config.ECNOf) > 0
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

// serialize returns how long n bytes take on the link.
func (p *Port) serialize(n int32) units.Duration {
	if p.byteAt != 0 {
		return p.byteAt * units.Duration(n)
	}
	return p.rate.Duration(units.Bytes(n))
}

// enqueue appends a frame to a queue of the port.
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
		q.notify(p.net.now)
	}
}

func (q *queue) notify(now units.Time) {
	for _, f := range q.watch {
		f(now, q.bytes)
	}
}

// kick starts the transmission of the next frame, or schedules it if the port is sending.
func (p *Port) kick() {
	if p.freeAt.After(p.net.now) {
		p.transmitAt(p.freeAt)
		return
	}
	p.transmit()
}

// transmitAt schedules the next transmission at a time, unless it is already scheduled earlier.
func (p *Port) transmitAt(at units.Time) {
	if at.Before(p.wakeAt) {
		p.wakeAt = at
		p.net.schedule(at, eventTransmit, p.id)
	}
}

// transmit puts the next eligible frame on the wire, if any.
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
		took = p.host.txTime(f, took)
	}
	p.freeAt = now.Add(took)
	f.at = p.freeAt.Add(p.delay)
	if p.wire.empty() {
		n.schedule(f.at, eventArrive, p.id)
	}
	p.wire.push(flight{f.at, f})
	p.stats.Frames++
	p.stats.Bytes += uint64(f.wire)
	if p.filled != 0 || p.first.head != nil {
		p.transmitAt(p.freeAt)
	}
}

// pick dequeues the next frame to send, or returns nil.
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
				p.transmitAt(l.readyAt)
				continue
			}
			l.spend(p.queues[at].head.wire, now)
		}
		return p.dequeue(at, now)
	}
	return nil
}

// quantum is the quantum of deficit round robin at weight 1, in bytes: at least the longest frame,
// so that each round sends a frame.
const quantum = 4400

// robin selects one of several queues of a level by deficit round robin.
func (p *Port) robin(may uint16) int {
	for {
		q := &p.queues[p.robinQueue]
		if may>>p.robinQueue&1 != 0 && q.deficit >= int64(q.head.wire) {
			q.deficit -= int64(q.head.wire)
			return int(p.robinQueue)
		}
		p.robinQueue = (p.robinQueue + 1) % MaxQueues
		for may>>p.robinQueue&1 == 0 {
			p.robinQueue = (p.robinQueue + 1) % MaxQueues
		}
		p.queues[p.robinQueue].deficit += quantum * p.queues[p.robinQueue].weight
	}
}

// dequeue removes the head of a queue and releases its buffer space.
func (p *Port) dequeue(at int, now units.Time) *frame {
	q := &p.queues[at]
	f := q.pop()
	if q.head == nil {
		p.filled &^= 1 << at
		q.deficit = 0 // an empty queue leaves the round
	}
	if q.marks && p.sw != nil {
		if e := q.config.ecn(f); e.AtDequeue && e.Kmax > 0 {
			p.sw.markECN(q, f, e)
		}
	}
	q.count--
	q.bytes -= units.Bytes(f.size)
	q.stats.Frames++
	q.stats.Bytes += uint64(f.size)
	if q.watch != nil {
		q.notify(now)
	}
	if p.sw != nil {
		p.sw.dequeued(p, q, f)
	} else {
		p.host.dequeued(p, at)
	}
	return f
}

// unpaused returns the queues of may that are not paused.
func (p *Port) unpaused(may uint16, now units.Time) uint16 {
	for left := may; left != 0; left &= left - 1 {
		at := bits.TrailingZeros16(left)
		priority := at
		if p.host != nil { // its queues are classes, but pauses are per priority
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
