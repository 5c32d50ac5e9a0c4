package steering

import (
	"sync"
	"sync/atomic"

	"github.com/goroce/goroce/packet"
)

// Port is the port of one endpoint. Each Port is used by one goroutine, as any packet.Port, and all
// Ports of a device may be used at once.
type Port struct {
	port   packet.Port
	index  int // among the n ports
	n      int
	queue  *queue   // that this port receives from and sends to
	queues []*queue // all of the device
	// lossless means that the device loses no frame, so that this must not, either
	lossless bool
	turn     int    // the queue that comes first in the next Recv
	passed   uint64 // frames for other ports
	dropped  atomic.Uint64
}

var _ packet.Port = (*Port)(nil)

// queue is a receive queue of the device with its transmit queues.
type queue struct {
	// Of the ports that share the queue one at a time receives, and one sends. A port that finds
	// another at it does not wait: its frames are being received, or it sends a little later.
	receiving, sending sync.Mutex
	shared             bool
	lanes              []lane // of frames received from this queue for each port
}

// New returns a Port for each of ports, which are all of one device with that number of queues:
// ports[i] uses queue i modulo queues. Their methods Alloc and Free must not interfere with each
// other; Recv and Send of ports on one queue are never called at the same time.
func New(ports []packet.Port, queues int) []*Port {
	all := make([]*queue, queues)
	for i := range all {
		all[i] = &queue{shared: i+queues < len(ports), lanes: make([]lane, len(ports))}
		for j := range all[i].lanes {
			if all[i].shared || i != j {
				all[i].lanes[j].slots = make([]packet.Buf, laneDepth)
			}
		}
	}
	steered := make([]*Port, len(ports))
	for i, p := range ports {
		steered[i] = &Port{port: p, index: i, n: len(ports), queue: all[i%queues], queues: all,
			lossless: p.Info().Reliable}
	}
	return steered
}

// Passed returns how many frames this port received for others. It is for the port's goroutine.
func (p *Port) Passed() uint64 { return p.passed }

// Dropped returns how many frames this port received for others that took none for too long.
func (p *Port) Dropped() uint64 { return p.dropped.Load() }

// Drain frees the frames that wait for this port. No Port of the device may be in use.
func (p *Port) Drain() {
	var bufs [packet.Burst]packet.Buf
	for _, q := range p.queues {
		for n := q.lanes[p.index].take(bufs[:]); n > 0; n = q.lanes[p.index].take(bufs[:]) {
			p.port.Free(bufs[:n])
		}
	}
}

// Info implements packet.Port.
func (p *Port) Info() packet.Info { return p.port.Info() }

// Alloc implements packet.Port.
func (p *Port) Alloc(bufs []packet.Buf) int { return p.port.Alloc(bufs) }

// Free implements packet.Port.
func (p *Port) Free(bufs []packet.Buf) { p.port.Free(bufs) }

// Send implements packet.Port.
func (p *Port) Send(class packet.Class, bufs []packet.Buf) int {
	q := p.queue
	if !q.shared {
		return p.port.Send(class, bufs)
	}
	if !q.sending.TryLock() {
		return 0
	}
	n := p.port.Send(class, bufs)
	q.sending.Unlock()
	return n
}

// Recv implements packet.Port. The queues come first in turn, so that none starves another.
func (p *Port) Recv(bufs []packet.Buf) int {
	n, at := 0, p.turn
	for range p.queues {
		if q := p.queues[at]; q == p.queue {
			n += p.poll(bufs[n:])
		} else {
			n += q.lanes[p.index].take(bufs[n:])
		}
		if at++; at == len(p.queues) {
			at = 0
		}
	}
	if p.turn++; p.turn == len(p.queues) {
		p.turn = 0
	}
	return n
}

// mostBursts is how many bursts a call of Recv receives for other ports before it returns.
const mostBursts = 4

// poll receives from the port's own queue: first what another port put into the lane, which is
// older than what the device has now.
func (p *Port) poll(bufs []packet.Buf) int {
	q := p.queue
	n := q.lanes[p.index].take(bufs)
	if n == len(bufs) || q.shared && !q.receiving.TryLock() {
		return n
	}
	n += q.lanes[p.index].take(bufs[n:]) // put there before the other port released the queue
	for range mostBursts {
		room := min(len(bufs)-n, packet.Burst)
		if room == 0 || p.lossless && !p.othersHaveRoom() {
			break
		}
		got := p.port.Recv(bufs[n : n+room])
		n += p.steer(bufs[n : n+got])
		if got < room {
			break
		}
	}
	if q.shared {
		q.receiving.Unlock()
	}
	return n
}

// othersHaveRoom reports whether a burst fits into the lane of each other port.
func (p *Port) othersHaveRoom() bool {
	for i := range p.queue.lanes {
		if i != p.index && p.queue.lanes[i].room() < packet.Burst {
			return false
		}
	}
	return true
}

// steer puts frames for other ports into their lanes. It returns how many are for this one, and
// moves those to the front.
func (p *Port) steer(bufs []packet.Buf) (own int) {
	for i := range bufs {
		owner := ownerOf(bufs[i].Data(), p.n)
		if owner != p.index && owner != everyone {
			p.pass(owner, bufs[i:i+1])
			continue
		}
		if owner == everyone {
			p.copyToOthers(&bufs[i])
		}
		if own != i {
			bufs[own] = bufs[i]
		}
		own++
	}
	return own
}

// pass puts a frame into the lane of another port, or drops it.
func (p *Port) pass(owner int, buf []packet.Buf) {
	p.passed++
	if !p.queue.lanes[owner].put(buf[0]) {
		p.port.Free(buf)
		p.dropped.Add(1)
	}
}

// copyToOthers gives every other port a copy of a frame, unless there are no buffers.
func (p *Port) copyToOthers(b *packet.Buf) {
	var c [1]packet.Buf
	for i := range p.n {
		if i == p.index || p.port.Alloc(c[:]) == 0 {
			continue
		}
		c[0].SetLen(copy(c[0].Room(), b.Data()))
		c[0].Time = b.Time
		p.pass(i, c[:])
	}
}
