package nicoffload

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// cell holds one flow's merged signals of one kind in one period.
type cell struct {
	flow  Handle // or reported, when the cell has been reported early
	kind  cc.Kind
	hops  uint8
	bolt  cc.BoltFlags
	first units.Time
	count uint32

	packets, marked, increases int32
	psn, sndNxt                uint32
	bytes, inFlight, left      units.Bytes
	delay, endpoint, oneWay    units.Duration // of a merged RTT: the newest sample
	gaps                       gaps
}

// The slots of a flow are the cells in which kinds are merged. Acknowledgements with and without an
// echoed mark share one, so that the numbers of marks and of packets are reported in one message.
const (
	slotAck = iota
	slotTx
	slotRTT
	slotOOO
	slots
	noSlot = slots
)

// defaultRoutes is how each kind is treated unless a Binding overrides it (TAURUS section 3.4: ACK,
// ECN and TX are sums; OOO recurs before a reaction takes effect). RTO and RTT are raw because a
// lost one cannot be recovered, and CNPs because the notification point has spaced them already.
var defaultRoutes = [...]route{
	cc.ACK: {class: Accumulable, slot: slotAck}, cc.ECN: {class: Accumulable, slot: slotAck},
	cc.TX:  {class: Accumulable, slot: slotTx},
	cc.OOO: {class: Coalescent, slot: slotOOO}, cc.RTT: {slot: slotRTT},
	cc.RTO: {}, cc.CNP: {}, cc.CST: {}, cc.HOST: {}, cc.TIMER: {}, cc.POST: {},
}

// engine merges signals in ping-pong buffers: one half is filled while the other one is drained.
// The halves swap at the end of a period, at multiples of the period since its configuration. While
// there is no room for the messages of the drained half, they do not swap, and merging continues.
type engine struct {
	class  Class
	period units.Duration
	next   units.Duration // the period after the next swap
	end    units.Time     // of the current period
	halves [2][]cell
	now    int    // index of the half being filled
	at     int    // position in the half being drained
	epoch  uint32 // of the half being filled; never 0
}

// ref locates a flow's cell; it is valid if it has the engine's epoch.
type ref struct{ epoch, index uint32 }

func (e *engine) configure(period units.Duration, now units.Time) {
	e.next = period
	if e.period == 0 || len(e.halves[e.now]) == 0 { // no period is running
		e.period, e.end = period, now.Add(period)
	}
}

// grow makes room for a number of cells in advance, so that signals do not allocate.
func (e *engine) grow(cells int) {
	for i, half := range e.halves {
		if cap(half) < cells {
			e.halves[i] = append(make([]cell, 0, 2*cells), half...)
		}
	}
}

// due reports whether a swap is due.
func (e *engine) due(now units.Time) bool { return e.period > 0 && !now.Before(e.end) }

// swap ends a period. It returns false if the half to fill next is not drained yet.
func (e *engine) swap(now units.Time) bool {
	if e.at < len(e.halves[1-e.now]) {
		return false
	}
	old := 1 - e.now
	e.halves[old], e.at = e.halves[old][:0], 0
	e.now = old
	if e.epoch++; e.epoch == 0 {
		e.epoch = 1
	}
	if e.next != e.period {
		e.period = e.next
		e.end = e.end.Add(e.period)
	}
	if e.period > 0 && !now.Before(e.end) { // the next multiple of the period
		e.end = e.end.Add((now.Sub(e.end)/e.period + 1) * e.period)
	}
	return true
}

// reported marks a cell that was reported before its period ended.
const reported Handle = math.MaxUint32

// merge adds a signal to a flow's cell. It returns the cell when its count reaches the maximum.
func (e *engine) merge(r *ref, f Handle, ev *cc.Event, now units.Time) (full *cell) {
	half := e.halves[e.now]
	if r.epoch != e.epoch {
		*r = ref{e.epoch, uint32(len(half))}
		if len(half) == cap(half) { // flows began and ended within the period
			e.grow(len(half) + 1)
			half = e.halves[e.now]
		}
		half = half[:len(half)+1]
		e.halves[e.now] = half
		c := &half[r.index]
		*c = cell{flow: f, kind: ev.Kind, first: now}
		if e.class == Coalescent {
			c.set(ev)
		}
	}
	c := &half[r.index]
	c.count++
	if e.class == Accumulable {
		c.add(ev)
	}
	if c.count >= math.MaxUint16 {
		return c
	}
	return nil
}

// set copies the values of a signal.
func (c *cell) set(ev *cc.Event) {
	c.packets, c.marked, c.increases, c.bytes = int32(ev.Packets), int32(ev.Marked),
		int32(ev.Increases), ev.Bytes
	c.latest(ev)
}

// add sums the values that can be summed, and takes the latest of the others.
func (c *cell) add(ev *cc.Event) {
	c.packets += int32(ev.Packets)
	c.marked += int32(ev.Marked)
	c.increases += int32(ev.Increases)
	c.bytes += ev.Bytes
	if ev.Kind == cc.ECN {
		c.kind = cc.ECN
	}
	c.latest(ev)
}

// saturate restores sums that the last signal overflowed, in a cell that could not be reported for
// a long time.
func (c *cell) saturate() {
	for _, sum := range [...]*int32{&c.packets, &c.marked, &c.increases} {
		if *sum < 0 {
			*sum = math.MaxInt32
		}
	}
}

func (c *cell) latest(ev *cc.Event) {
	c.psn, c.sndNxt = ev.PSN, ev.SndNxt
	c.hops, c.bolt = uint8(min(max(ev.Hops, 0), math.MaxUint8)), c.bolt|ev.Bolt
	c.inFlight, c.left = ev.InFlight, ev.Left
	c.delay, c.endpoint, c.oneWay = ev.Delay, ev.Endpoint, ev.OneWay
	c.gaps = gapsOf(ev)
}

// encode writes a cell as a message to b, which has MaxMessage bytes, and returns its length. The
// result equals that of Message.Encode.
func (c *cell) encode(b []byte, class Class, brief bool) int {
	b = b[:MaxMessage]
	flags, n, value, other := uint8(class), Slot, uint64(c.bytes), uint64(c.delay)
	switch c.kind {
	case cc.RTT:
		value, other = other, value
	case cc.OOO:
		value, other = uint64(c.psn), value
	}
	if !brief {
		flags |= hasState
		le.PutUint32(b[n:], c.psn&psnMask|uint32(c.hops)<<24)
		le.PutUint32(b[n+4:], c.sndNxt&psnMask|uint32(c.bolt)<<24)
		le.PutUint32(b[n+8:], uint32(c.packets))
		le.PutUint32(b[n+12:], uint32(c.marked))
		le.PutUint64(b[n+16:], uint64(c.inFlight))
		le.PutUint64(b[n+24:], uint64(c.left))
		n += Slot
		if other != 0 || c.endpoint != 0 || c.oneWay != 0 || c.increases != 0 {
			flags |= hasSample
			le.PutUint64(b[n:], other)
			le.PutUint64(b[n+8:], uint64(c.endpoint))
			le.PutUint64(b[n+16:], uint64(c.oneWay))
			le.PutUint64(b[n+24:], uint64(uint32(c.increases)))
			n += Slot
		}
		if c.gaps != (gaps{}) {
			flags |= hasGaps
			c.gaps.encode(b[n:])
			n += Slot
		}
	}
	le.PutUint32(b, uint32(c.flow))
	b[4], b[5] = uint8(typeOf[c.kind]), flags
	le.PutUint16(b[6:], uint16(c.count))
	le.PutUint64(b[8:], value)
	le.PutUint64(b[16:], uint64(c.first))
	le.PutUint64(b[24:], 0)
	return n
}
