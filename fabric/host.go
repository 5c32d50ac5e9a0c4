package fabric

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Poller is what runs on a host: transport's Endpoint is one. Poll does one round at time now and
// answers when it next has something to do; a frame that arrives, and room in a queue that came up
// short, wake it earlier.
type Poller interface {
	Poll(now units.Time) (next units.Time)
}

// Idler is what a Poller may be besides. The fabric polls only when there is something to do, so
// that a poller cannot tell time in which it looked in vain from time in which it did not run. Idle
// reports that it would have found nothing until this moment. It is called before each Poll, with a
// moment that is not after that Poll and not before the last one: the same as Poll's on a host that
// polls all the time, and the last moment at which it could look when it napped, was preempted, or
// waited for its turn on a core that it shares.
//
// Ended reports when the round that began with the newest Poll is over: later than it began on a
// host whose CPU takes time.
type Idler interface {
	Idle(until units.Time)
	Ended(now units.Time)
}

// HostConfig says what a host is like. The zero value is an infinitely fast computer.
type HostConfig struct {
	// TxDepth is how many frames a queue of the NIC takes beyond the one on the wire; 0 means 1.
	TxDepth int
	// RxDepth is how many frames wait for the poller before the NIC drops; 0 means 65536.
	RxDepth int
	// TxDelay is what a frame spends in the NIC before the wire, RxDelay after it.
	TxDelay, RxDelay units.Duration
	// Jitter, when not nil, draws what each frame waits in addition before the poller gets it.
	// Frames keep their order.
	Jitter func() units.Duration
	// Noise, when not nil, draws the error of each arrival's time stamp (Buf.Time). A stamp that is
	// later than the poll is taken for the poll's by transport.
	Noise func() units.Duration
	// NoStamps is a NIC without time stamps: Buf.Time is 0.
	NoStamps bool
	PCIe     PCIe
	CPU      CPU
	// Naps, Preemption and Share are when the poller does not run though there may be something to
	// do.
	Naps       Naps
	Preemption Preemption
	Share      Share
	// Coalesce is how the NIC hands over what arrives in batches.
	Coalesce Coalesce
	// DataClasses is how many classes of data the NIC has beyond packet.ClassData: queues in strict
	// priority, as physical priorities want them.
	DataClasses int
	// Memory, when not nil, is told of every byte the NIC writes and reads.
	Memory Memory
	// Congested, when not nil, has the NIC mark what comes in while it is true, as hostCC does.
	Congested func() bool
}

// CPU is the time a host's processor takes. It works on one thing at a time.
type CPU struct {
	PerPoll   units.Duration // of each round of the poller
	PerPacket units.Duration // and for each frame it received or sent
	// Consume is how fast an application consumes what it received, see Host.Consume; 0: at once.
	Consume units.BitRate
}

// Host is a computer with one NIC.
type Host struct {
	net    *Network
	index  int
	nic    NIC
	config HostConfig
	poller Poller
	idler  Idler // the poller, if it is one
	core   *core // when it runs; nil: always
	seat   int   // on a core that it shares

	wakeAt    units.Time // when something else wants it to be polled; never otherwise
	deadline  units.Time // when its poller wants to be polled
	alarmAt   units.Time // its entry among the alarms
	alarmIx   int32
	busyUntil units.Time // the processor
	polled    units.Time // the last round began
	idle      int        // rounds in which nothing moved though the poller wanted them at once
	consumed  units.Time // when the application is done with what it has
}

// Index is the number of the host, from 0 in the order they were added.
func (h *Host) Index() int { return h.index }

// NIC is the host's port.
func (h *Host) NIC() *NIC { return &h.nic }

// String names the host.
func (h *Host) String() string { return fmt.Sprintf("host %d", h.index) }

// Addrs answers the addresses that the network knows the host by, with their prefix lengths: one
// of IPv4, one of IPv6. All hosts are on one link, as in an Ethernet fabric.
func (h *Host) Addrs() []netip.Prefix {
	i := uint32(h.index + 1)
	four := [4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}
	six := [16]byte{0xfd, 0x60, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
	return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(four), 8),
		netip.PrefixFrom(netip.AddrFrom16(six), 64)}
}

// Run gives the host its poller and polls it at once. Nil stops the host.
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

// Wake polls the host now, or when its poller looks next: something was posted to it from outside.
func (h *Host) Wake() { h.wake(h.net.now) }

// Consume answers when the application will have consumed n bytes more, at the rate of its CPU.
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

// wake makes the host poll at a time, or before.
func (h *Host) wake(at units.Time) {
	if at.Before(h.busyUntil) {
		at = h.busyUntil
	}
	if h.core != nil && at.Before(h.core.until) {
		at = h.core.until
	}
	if at.Before(h.wakeAt) {
		h.wakeAt = at
		h.net.schedule(at, polls, int32(h.index))
	}
}

// patience is how many rounds at one instant a poller may take without a frame: to hand on what a
// round has brought, a completion for instance, may take another, and what that posts one more.
const patience = 1000

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
	looked := h.look(now)
	if h.idler != nil {
		h.idler.Idle(looked)
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
	} else if h.idle++; h.idle > patience {
		h.net.fail(fmt.Errorf("fabric: %v at %v: its poller did nothing in %d rounds and wants "+
			"to be polled again at %v: it would spin", h, now, h.idle, next))
		return
	}
	next = max(next, now)
	h.net.alarms.set(h, max(next, h.busyUntil))
	if f := h.nic.arrived.head; f != nil && (moved > 0 || f.at.After(now)) {
		h.wake(max(f.at, now))
	}
}

// look notes a round and returns until when the poller would have found nothing to do. One whose
// processor was busy until now did not look since the round before.
func (h *Host) look(now units.Time) units.Time {
	looked := now
	if now == h.busyUntil {
		looked = h.polled
	}
	if h.core != nil {
		looked = min(looked, h.core.round(now))
	}
	h.polled = now
	return looked
}

// NIC is a host's packet.Port: it serialises at the rate of its link, and has a queue for each
// class. With several links it bonds them, each flow on one.
type NIC struct {
	host    *Host
	net     *Network
	ports   []*Port
	info    packet.Info
	depth   int32
	room    int
	starved [packet.MaxClasses]bool // came up short
	arrived frameList               // for the poller; at is when it may have them
	waiting int                     // of them
	moved   int                     // frames received and sent by the poller
	held    int                     // buffers that are not in the pool
	lastRx  units.Time
	batch   batch
	pcie    pcie
	stats   NICStats
}

// NICStats counts what happened at a NIC.
type NICStats struct {
	TxFrames, TxBytes uint64 // from the poller; bytes as in a Buf
	RxFrames, RxBytes uint64 // for the poller
	NoRoom            uint64 // dropped: the poller does not keep up
	NoBuffer          uint64 // dropped: PCIe does not keep up
	Down              uint64 // dropped: the host is stopped
	Unaddressed       uint64 // sent to an address that nobody has
	Pauses            uint64 // pauses sent
}

// Stats answers the counters.
func (c *NIC) Stats() NICStats { return c.stats }

// Ports answers the NIC's ends of its links.
func (c *NIC) Ports() []*Port { return c.ports }

// Held answers how many buffers of this NIC are not in the pool: with the poller, or on their way.
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

// take finds the frame of a buffer that the caller holds.
func (c *NIC) take(b *packet.Buf, verb string) *frame {
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
		c.net.giveBack(c.take(&bufs[i], "free"))
	}
}

// giveBack frees a frame and takes it off its owner's account.
func (n *Network) giveBack(f *frame) {
	if f.owner != nil {
		f.owner.held--
	}
	n.release(f)
}

// Send implements packet.Port.
func (c *NIC) Send(class packet.Class, bufs []packet.Buf) int {
	class = min(class, packet.Class(c.info.Classes-1))
	for i := range bufs {
		f := c.take(&bufs[i], "send")
		c.net.label(f, bufs[i].Data())
		p := c.ports[0]
		if len(c.ports) > 1 {
			p = c.ports[choose(f.hash, c.net.bond, len(c.ports))]
		}
		if p.queues[class].count >= c.depth {
			c.starved[class] = true
			return i
		}
		c.moved++
		c.stats.TxFrames++
		c.stats.TxBytes += uint64(f.len)
		c.net.sent(f, bufs[i].Data())
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

// left wakes a poller that waits for room: a frame left the queue of a class.
func (h *Host) left(_ *Port, class int) {
	if h.nic.starved[class] {
		h.nic.starved[class] = false
		h.wake(h.net.now)
	}
}

// receive takes a frame off the wire.
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
	f.wait = now.Sub(ready) // Recv wants the time of arrival
	f.at = ready
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
		if f.owner != c { // the buffer is ours now
			if f.owner != nil { // or a switch sent it
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

// clear drops what the NIC has, as a host that stops does.
func (c *NIC) clear() {
	for c.arrived.head != nil {
		c.stats.Down++
		c.net.drop(c.arrived.pop())
	}
	c.waiting = 0
	c.batch = batch{}
	c.starved = [packet.MaxClasses]bool{}
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
