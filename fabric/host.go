package fabric

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/internal/prefetch"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Poller is the program of a host, such as transport.Endpoint. Poll does one round at time now and
// returns when it has to be called again. It is called earlier when a frame arrives, or when a
// queue whose Send accepted too few frames has room.
type Poller interface {
	Poll(now units.Time) (next units.Time)
}

// Idler is an optional interface of a Poller. The fabric polls only when there is work, so a poller
// cannot distinguish idle time from time in which it did not run. Idle is called before each Poll,
// with the last time at which the poller would have checked its port without finding work. That
// time is not after this Poll and not before the previous one. It equals the time of Poll on a host
// that polls continuously. It is earlier when the poller napped, was preempted, or waited for a
// shared core.
//
// Ended is called with the time at which the round of the latest Poll ends. That is later than its
// start on a host with CPU time.
type Idler interface {
	Idle(until units.Time)
	Ended(now units.Time)
}

// HostConfig configures a host. The zero value is an infinitely fast host.
type HostConfig struct {
	// TxDepth is the capacity of a transmit queue beyond the frame on the wire; 0 means 1.
	TxDepth int
	// RxDepth is the capacity of the receive queue, beyond which the NIC drops; 0 means 65536.
	RxDepth int
	// TxDelay and RxDelay are the NIC's delay of a frame before and after the wire.
	TxDelay, RxDelay units.Duration
	// Jitter, if not nil, draws an additional delay before each frame reaches the poller. Frames
	// keep their order.
	Jitter func() units.Duration
	// Noise, if not nil, draws the error of each receive timestamp (Buf.Time). The transport
	// replaces a timestamp later than its poll by the time of the poll.
	Noise func() units.Duration
	// NoStamps makes a NIC without receive timestamps: Buf.Time is 0.
	NoStamps bool
	PCIe     PCIe
	CPU      CPU
	// Naps, Preemption and Share determine when the poller does not run although there may be work.
	Naps       Naps
	Preemption Preemption
	Share      Share
	// Coalesce configures interrupt coalescing.
	Coalesce Coalesce
	// DataClasses is the number of data classes beyond packet.ClassData: queues in strict priority,
	// for physical priorities.
	DataClasses int
	// Memory, if not nil, models the NIC's memory accesses.
	Memory Memory
	// Congested, if not nil, makes the NIC mark received packets while it returns true, as hostCC
	// does.
	Congested func() bool
}

// CPU is the processor time of a host, which works on one round at a time.
type CPU struct {
	PerPoll   units.Duration // per round of the poller
	PerPacket units.Duration // per frame received or sent
	// Consume is the rate at which the application consumes received data (see Host.Consume); 0
	// means at once.
	Consume units.BitRate
}

// Host is a simulated host with one NIC.
type Host struct {
	net    *Network
	index  int
	nic    NIC
	config HostConfig
	poller Poller
	idler  Idler // the poller, if it implements Idler
	core   *core // nil: the poller always runs
	seat   int   // index on a shared core

	wakeAt     units.Time // time of the scheduled poll event, or never
	deadline   units.Time // the poller's deadline
	timerAt    units.Time // its entry in Network.timers
	timerIndex int32
	busyUntil  units.Time // end of the current round
	polled     units.Time // start of the last round
	idle       int        // consecutive immediate rounds that moved no frame
	consumed   units.Time // when the application has consumed everything received
}

// Index returns the index of the host, from 0 in the order of AddHost.
func (h *Host) Index() int { return h.index }

// NIC returns the host's port.
func (h *Host) NIC() *NIC { return &h.nic }

// String returns the host's name.
func (h *Host) String() string { return fmt.Sprintf("host %d", h.index) }

// Addrs returns the host's IPv4 and IPv6 address with their prefix lengths. All hosts are on one
// link, as in an Ethernet fabric.
func (h *Host) Addrs() []netip.Prefix {
	i := uint32(h.index + 1)
	four := [4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}
	six := [16]byte{0xfd, 0x60, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
	return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(four), 8),
		netip.PrefixFrom(netip.AddrFrom16(six), 64)}
}

// Run sets the host's poller and polls it at once. Nil stops the host.
func (h *Host) Run(p Poller) {
	h.poller = p
	h.idler, _ = p.(Idler)
	if p != nil {
		if h.core != nil {
			h.core.begin(h.net.now)
		}
		h.polled = h.net.now
		h.Wake()
	}
}

// Wake polls the host now, or when its poller runs next. It must be called after work is posted to
// the poller from outside.
func (h *Host) Wake() { h.wake(h.net.now) }

// Consume returns when the application will have consumed n more bytes at the rate CPU.Consume.
func (h *Host) Consume(n units.Bytes) units.Time {
	now := h.net.now
	if h.config.CPU.Consume == 0 {
		return now
	}
	if h.consumed.Before(now) {
		h.consumed = now
	}
	h.consumed = h.consumed.Add(h.config.CPU.Consume.Duration(n))
	return h.consumed
}

// wake polls the host at a time or earlier.
func (h *Host) wake(at units.Time) {
	if at.Before(h.busyUntil) {
		at = h.busyUntil
	}
	if h.core != nil && at.Before(h.core.until) {
		at = h.core.until
	}
	if at.Before(h.wakeAt) {
		h.wakeAt = at
		h.net.schedule(at, eventPoll, int32(h.index))
	}
}

// maxIdleRounds limits the rounds at one instant that move no frame. A few are legitimate: a
// completion may be processed in the next round, and the requests posted then in another.
const maxIdleRounds = 1000

// poll runs one round.
func (h *Host) poll() {
	if h.poller == nil {
		return
	}
	now := h.net.now
	if h.core != nil {
		if at := h.core.ready(now); at.After(now) {
			h.wake(at)
			return
		}
	}
	checked := h.startRound(now)
	if h.idler != nil {
		h.idler.Idle(checked)
	}
	before := h.nic.moved
	next := h.poller.Poll(now)
	moved := h.nic.moved - before
	if h.core != nil && (moved > 0 || !next.After(now)) {
		h.core.worked = now
	}
	if cpu := &h.config.CPU; cpu.PerPoll != 0 || cpu.PerPacket != 0 {
		h.busyUntil = now.Add(cpu.PerPoll + cpu.PerPacket*units.Duration(moved))
		if h.idler != nil {
			h.idler.Ended(h.busyUntil)
		}
	}
	if next.After(now) || moved > 0 {
		h.idle = 0
	} else if h.idle++; h.idle > maxIdleRounds {
		h.net.fail(fmt.Errorf("fabric: %v at %v: the poller spins: %d rounds moved no frame, "+
			"and the next deadline is %v", h, now, h.idle, next))
		return
	}
	next = max(next, now)
	h.net.timers.set(h, max(next, h.busyUntil))
	if f := h.nic.arrived.head; f != nil && (moved > 0 || f.at.After(now)) {
		h.wake(max(f.at, now))
	}
}

// startRound records the start of a round and returns the last time at which the poller checked
// without finding work. A poller whose processor was busy until now has not checked since the
// previous round.
func (h *Host) startRound(now units.Time) units.Time {
	checked := now
	if now == h.busyUntil {
		checked = h.polled
	}
	if h.core != nil {
		checked = min(checked, h.core.round(now))
	}
	h.polled = now
	return checked
}

// NIC is a host's packet.Port. It serialises frames at the rate of its link and has a queue per
// class. Several links are bonded, with each flow on one of them.
type NIC struct {
	host    *Host
	net     *Network
	ports   []*Port
	info    packet.Info
	depth   int32
	room    int
	blocked [packet.MaxClasses]bool // Send accepted too few frames
	arrived frameList               // not yet received by the poller, available from frame.at on
	waiting int                     // length of arrived
	moved   int                     // frames that the poller received and sent
	held    int                     // buffers not in the pool
	lastRx  units.Time
	batch   batch
	pcie    pcie
	stats   NICStats
}

// NICStats counts the frames of a NIC.
type NICStats struct {
	TxFrames, TxBytes uint64 // sent by the poller; bytes as in a Buf
	RxFrames, RxBytes uint64 // received by the poller
	NoRoom            uint64 // dropped: receive queue full
	NoBuffer          uint64 // dropped: PCIe buffer full
	Down              uint64 // dropped: host stopped
	Unaddressed       uint64 // dropped: unknown destination address
	Pauses            uint64 // pauses sent because of PCIe
}

// Stats returns the counters.
func (c *NIC) Stats() NICStats { return c.stats }

// Ports returns the NIC's ends of its links.
func (c *NIC) Ports() []*Port { return c.ports }

// Held returns how many buffers of this NIC are not in the pool: held by the poller or in flight.
func (c *NIC) Held() int { return c.held }

// Info implements packet.Port.
func (c *NIC) Info() packet.Info { return c.info }

// Alloc implements packet.Port.
func (c *NIC) Alloc(bufs []packet.Buf) int {
	for i := range bufs {
		f := c.net.newFrame(c)
		bufs[i] = packet.MakeBuf(uintptr(f.id), f.mem[:0])
	}
	c.held += len(bufs)
	return len(bufs)
}

// heldFrame returns the frame of a buffer. It panics unless the caller holds it.
func (c *NIC) heldFrame(b *packet.Buf, verb string) *frame {
	f := c.net.frames[b.Handle]
	if f.state != frameHeld {
		panic(fmt.Sprintf("fabric: %v: %s of buffer %d, which the caller does not hold", c.host,
			verb, b.Handle))
	}
	return f
}

// Free implements packet.Port.
func (c *NIC) Free(bufs []packet.Buf) {
	for i := range bufs {
		c.net.giveBack(c.heldFrame(&bufs[i], "free"))
	}
}

// giveBack frees a frame and updates the account of its owner.
func (n *Network) giveBack(f *frame) {
	if f.owner != nil {
		f.owner.held--
	}
	n.release(f)
}

// Send implements packet.Port.
func (c *NIC) Send(class packet.Class, bufs []packet.Buf) int {
	class = min(class, packet.Class(c.info.Classes-1))
	p := c.ports[0]
	for i := range bufs {
		f := c.heldFrame(&bufs[i], "send")
		if len(c.ports) > 1 {
			c.net.label(f, bufs[i].Data())
			p = c.ports[choose(f.hash, c.net.bond, len(c.ports))]
		}
		if p.queues[class].count >= c.depth {
			c.blocked[class] = true
			return i
		}
		if len(c.ports) == 1 { // not before, as a queue without room is common
			c.net.label(f, bufs[i].Data())
		}
		c.moved++
		c.stats.TxFrames++
		c.stats.TxBytes += uint64(f.len)
		c.net.inject(f, bufs[i].Data())
		if f.dst < 0 {
			c.stats.Unaddressed++
			c.net.drop(f)
			continue
		}
		p.enqueue(f, uint8(class))
		p.kick()
	}
	return len(bufs)
}

// dequeued wakes a poller that waits for room in the queue of a class.
func (h *Host) dequeued(_ *Port, class int) {
	if h.nic.blocked[class] {
		h.nic.blocked[class] = false
		h.wake(h.net.now)
	}
}

// receive processes a frame that arrived at the NIC.
func (c *NIC) receive(f *frame) {
	h, now := c.host, c.net.now
	if h.poller == nil {
		c.stats.Down++
		c.net.drop(f)
		return
	}
	if c.waiting >= c.room {
		c.stats.NoRoom++
		c.net.drop(f)
		return
	}
	ready, ok := c.pcie.take(c, f)
	if !ok {
		c.stats.NoBuffer++
		c.net.drop(f)
		return
	}
	if h.config.Congested != nil && f.ecn != wire.ECNNotECT && h.config.Congested() {
		f.mark()
	}
	ready = ready.Add(h.config.RxDelay)
	if h.config.Jitter != nil {
		ready = ready.Add(max(0, h.config.Jitter()))
	}
	if ready.Before(c.lastRx) {
		ready = c.lastRx
	}
	c.lastRx = ready
	if h.config.Coalesce.Every > 0 {
		ready = c.coalesce(f, ready)
	}
	f.wait = now.Sub(ready) // from which Recv restores the time of arrival
	f.at = ready
	prefetch.Line(&f.mem[0])
	c.arrived.push(f)
	c.waiting++
	h.wake(ready)
}

// Recv implements packet.Port.
func (c *NIC) Recv(bufs []packet.Buf) int {
	now, n := c.net.now, 0
	for n < len(bufs) {
		f := c.arrived.head
		if f == nil || f.at.After(now) {
			break
		}
		c.arrived.pop()
		f.state = frameHeld
		if f.owner != c { // the receiving NIC takes over the buffer
			if f.owner != nil { // nil: a switch created the frame
				f.owner.held--
			}
			f.owner = c
			c.held++
		}
		b := &bufs[n]
		*b = packet.MakeBuf(uintptr(f.id), f.mem[:f.len])
		b.Time = f.at.Add(f.wait)
		if noise := c.host.config.Noise; noise != nil {
			b.Time = b.Time.Add(noise())
		}
		if c.host.config.NoStamps {
			b.Time = 0
		}
		c.stats.RxFrames++
		c.stats.RxBytes += uint64(f.len)
		n++
	}
	c.waiting -= n
	c.moved += n
	c.net.delivered += uint64(n)
	return n
}

// clear drops all frames in the NIC when its host stops.
func (c *NIC) clear() {
	for c.arrived.head != nil {
		c.stats.Down++
		c.net.drop(c.arrived.pop())
	}
	c.waiting = 0
	c.batch = batch{}
	c.blocked = [packet.MaxClasses]bool{}
	for _, p := range c.ports {
		for at := range p.queues {
			for q := &p.queues[at]; q.head != nil; {
				f := q.pop()
				q.count--
				q.bytes -= units.Bytes(f.size)
				c.stats.Down++
				c.net.drop(f)
			}
		}
		p.filled = 0
	}
}
