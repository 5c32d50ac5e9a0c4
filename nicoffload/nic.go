package nicoffload

import (
	"fmt"
	"math/bits"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/units"
)

// Config configures a NIC.
type Config struct {
	Flows       int         // initial capacity; more flows make it grow
	Queue       int         // Slots of each of the two message queues; 0 means DefaultQueue
	Aggregation Aggregation // initial
	LineRate    units.BitRate
}

// DefaultQueue is the default number of Slots of a message queue.
const DefaultQueue = 4096

// NIC is TAURUS's hardware part in software: it collects signals, merges them by class, makes
// messages, and keeps the last result of each flow. It implements both sides of the boundary: the
// polling core calls the methods of Datapath, the agent those of Device. Both must run on the same
// core; a Link separates them.
type NIC struct {
	config   Config
	flows    []flowContext
	timed    []timedContext // time-driven state, separate from data-driven state (section 3.3)
	timers   *pace.Wheel
	timing   int       // number of flows with a retransmission timer of the NIC
	engines  [2]engine // Accumulable and Coalescent
	agg      Aggregation
	segments []Extraction

	lifecycle   lifecycleQueue
	merged, raw fifo
	oldest      units.Time // when the oldest unflushed message was queued
	scratch     Message
	frame       [MaxMessage]byte
	event       cc.Event

	dirty       bool       // something changed since the last Poll
	next        units.Time // return value of the last Poll
	changed     []uint32   // flows with a new result
	now         units.Time
	fetches     uint64
	seenFetches uint64     // fetches at the last call of Silence
	fetchedAt   units.Time // when the agent last fetched, or had nothing to fetch
	counters    Counters
}

// flowContext is the NIC's state of a flow: fields that signals use first, then the result.
type flowContext struct {
	handle  Handle
	open    bool
	brief   bool
	changed bool
	routes  [16]route // by kind
	refs    [slots]ref
	result  cc.Decision
	probeAt units.Time // a requested probe not yet passed to the pipeline; 0: none
	arrival arrival
}

// NewNIC returns a NIC whose time begins at now.
func NewNIC(c Config, now units.Time) (*NIC, error) {
	if err := c.Aggregation.Validate(); err != nil {
		return nil, err
	}
	if c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	if c.Queue < 2*MaxMessage/Slot || bits.OnesCount(uint(c.Queue)) != 1 || c.Queue > 1<<24 {
		return nil, fmt.Errorf("nicoffload: queue of %d slots, want a power of two in [%d, %d]",
			c.Queue, 32, 1<<24)
	}
	if c.Flows < 0 || c.Flows >= MaxFlows {
		return nil, fmt.Errorf("nicoffload: number of flows %d out of range [0, %d)", c.Flows,
			MaxFlows)
	}
	n := &NIC{config: c, timers: pace.New(now), merged: newFifo(c.Queue), raw: newFifo(c.Queue),
		now: now, fetchedAt: now, dirty: true, agg: c.Aggregation}
	n.engines[0] = engine{class: Accumulable, epoch: 1}
	n.engines[1] = engine{class: Coalescent, epoch: 1}
	n.engines[0].configure(c.Aggregation.Accumulable, now)
	n.engines[1].configure(c.Aggregation.Coalescent, now)
	n.flows = make([]flowContext, 0, c.Flows)
	n.timed = make([]timedContext, 0, c.Flows)
	n.changed = make([]uint32, 0, c.Flows)
	n.growEngines()
	return n, nil
}

func (n *NIC) growEngines() {
	for i := range n.engines {
		n.engines[i].grow(slots / 2 * max(cap(n.flows), 16))
	}
}

// Open implements Datapath.
func (n *NIC) Open(h Handle, first cc.Decision, now units.Time) {
	n.now, n.dirty = now, true
	i := int(h.Index())
	if i >= MaxFlows-1 {
		n.counters.Unknown++
		return
	}
	for i >= len(n.flows) {
		n.flows = append(n.flows, flowContext{})
		n.timed = append(n.timed, timedContext{})
	}
	n.growEngines()
	n.flows[i] = flowContext{handle: h, open: true, changed: n.flows[i].changed, result: first}
	n.bindTimed(h, Binding{})
	n.timed[i] = timedContext{}
	n.bind(&n.flows[i], Binding{})
	n.lifecycle.add(lifecycleEvent{h, Started, now})
	n.reportLifecycle(now)
}

// Close implements Datapath.
func (n *NIC) Close(h Handle, now units.Time) {
	n.now, n.dirty = now, true
	if f := n.find(h); f != nil {
		*f = flowContext{handle: h, changed: f.changed}
		n.bindTimed(h, Binding{})
		n.lifecycle.add(lifecycleEvent{h, Stopped, now})
		n.reportLifecycle(now)
	}
}

// find returns the context of an open flow. It counts a lookup that fails, and returns nil.
func (n *NIC) find(h Handle) *flowContext {
	if i := int(h.Index()); i < len(n.flows) {
		if f := &n.flows[i]; f.handle == h && f.open {
			return f
		}
		n.counters.Stale++
		return nil
	}
	n.counters.Unknown++
	return nil
}

// route is how signals of one kind of a flow are treated.
type route struct {
	class Class
	slot  uint8 // of the cell they are merged in; noSlot: reported one by one
	bound bool
}

func (n *NIC) bind(f *flowContext, b Binding) {
	f.brief = b.Brief
	for i := range defaultRoutes {
		k, w := cc.Kind(i), defaultRoutes[i]
		w.bound = b.Events == 0 || b.Events.Has(k)
		if b.Merged.Has(k) {
			w.class = Accumulable
		}
		if w.class == Raw || b.Raw.Has(k) {
			w.class, w.slot = Raw, noSlot
		}
		f.routes[k] = w
	}
}

// Report implements Datapath: it passes one signal to its engine.
func (n *NIC) Report(h Handle, ev *cc.Event, now units.Time) {
	n.counters.Signals++
	n.now, n.dirty = now, true
	f := n.find(h)
	if f == nil {
		return
	}
	w := f.routes[ev.Kind&15]
	if !w.bound || ev.Kind > 15 {
		n.counters.Unbound++
		return
	}
	// A merged cell has no room for these.
	if w.slot == noSlot || ev.Probe || len(ev.INT) > 0 || ev.SRC.Rate != 0 {
		n.report(f, ev, Raw, now)
		return
	}
	e := &n.engines[w.class-1]
	if e.period == 0 {
		n.report(f, ev, w.class, now)
		return
	}
	if !now.Before(e.end) {
		n.swap(e, now)
	}
	if full := e.merge(&f.refs[w.slot], h, ev, now); full != nil {
		n.emitFull(e, full, f, w.slot, now)
	}
}

// report makes a message of one signal.
func (n *NIC) report(f *flowContext, ev *cc.Event, class Class, now units.Time) {
	length := encodeEvent(n.frame[:], typeOf[ev.Kind], class, ev, 0, nil, f.brief)
	le.PutUint32(n.frame[:], uint32(f.handle))
	le.PutUint16(n.frame[6:], 1)
	le.PutUint64(n.frame[16:], uint64(now))
	n.pushRaw(length, now)
}

// pushRaw queues the message in frame. In a full queue it evicts older messages, or drops the new
// one.
func (n *NIC) pushRaw(length int, now units.Time) {
	b := n.frame[:length]
	for n.raw.room() < length {
		if !isEssential(b) && 2*n.raw.essentialBytes > n.raw.used() {
			n.countEvicted(b)
			return
		}
		n.evict()
	}
	n.enqueue(&n.raw, length, now)
	n.flushIfDue(now)
}

// evict removes the oldest raw message, fetched or not, since raw messages cannot be merged.
// Essential messages move behind the others, unless there are no others.
func (n *NIC) evict() {
	q := &n.raw
	for q.essentialBytes < q.used() && isEssential(q.at(q.head)) {
		q.postpone()
	}
	n.countEvicted(q.at(q.head))
	q.drop()
}

func (n *NIC) countEvicted(b []byte) {
	if k, ok := Type(b[4]).Event(); ok {
		n.counters.Evicted[k]++
	}
}

func (n *NIC) enqueue(q *fifo, length int, now units.Time) {
	if n.merged.waiting()+n.raw.waiting() == 0 {
		n.oldest = now
	}
	q.push(n.frame[:length])
	n.counters.Messages++
}

// mergedLen is the maximum length of a message from an engine.
const mergedLen = 3 * Slot

// emitFull reports a cell whose count is at its maximum if there is room; otherwise the cell
// continues to sum, with saturated values.
func (n *NIC) emitFull(e *engine, c *cell, f *flowContext, slot uint8, now units.Time) {
	if n.merged.room() < mergedLen {
		c.count--
		c.saturate()
		return
	}
	n.emit(c, e.class, f.brief, now)
	c.flow, f.refs[slot] = reported, ref{}
	n.flushIfDue(now)
}

func (n *NIC) emit(c *cell, class Class, brief bool, now units.Time) {
	n.enqueue(&n.merged, c.encode(n.frame[:], class, brief), now)
}

// swap ends the period of an engine and makes messages of what it merged.
func (n *NIC) swap(e *engine, now units.Time) {
	n.drain(e, now)
	if !e.swap(now) {
		n.counters.Held++
		e.end = e.end.Add((now.Sub(e.end)/e.period + 1) * e.period)
		return
	}
	if e.epoch == 1 { // epochs wrapped: refs of old epochs must not become valid again
		for i := range n.flows {
			n.flows[i].refs = [slots]ref{}
		}
	}
	n.drain(e, now)
}

// drain makes messages of the drained half while there is room.
func (n *NIC) drain(e *engine, now units.Time) {
	half := e.halves[1-e.now]
	for ; e.at < len(half); e.at++ {
		c := &half[e.at]
		if c.flow == reported {
			continue
		}
		f := &n.flows[c.flow.Index()]
		if f.handle != c.flow || !f.open {
			n.counters.Stale++
			continue
		}
		if n.merged.room() < mergedLen {
			return
		}
		n.emit(c, e.class, f.brief, now)
	}
}

// announceFlows reports all open flows again, for an agent that knows none.
func (n *NIC) announceFlows() {
	n.dirty = true
	n.lifecycle.clear()
	for i := range n.flows {
		if f := &n.flows[i]; f.open {
			n.lifecycle.add(lifecycleEvent{f.handle, Started, n.now})
		}
	}
	n.reportLifecycle(n.now)
}

// reportLifecycle reports flows that began or ended. These messages are never lost; they wait for
// room.
func (n *NIC) reportLifecycle(now units.Time) {
	for l, some := n.lifecycle.peek(); some; l, some = n.lifecycle.peek() {
		if n.merged.room() < Slot {
			break
		}
		m := &n.scratch
		*m = Message{Flow: l.flow, Type: l.t, Count: 1, First: l.at}
		n.enqueue(&n.merged, m.Encode(n.frame[:], true), now)
		n.lifecycle.pop()
	}
	n.flushIfDue(now)
}

// flushIfDue flushes the queues when their size or the waiting time requires it.
func (n *NIC) flushIfDue(now units.Time) {
	waiting := n.merged.waiting() + n.raw.waiting()
	if waiting == 0 || waiting <= int(n.agg.Threshold) && now.Sub(n.oldest) < n.agg.Deadline {
		return
	}
	_, a := n.merged.flush(uint64(now))
	_, b := n.raw.flush(uint64(now))
	n.counters.Bursts++
	n.counters.Bytes += a + b
}

// Poll implements Datapath: it ends periods, runs timers, and flushes messages.
func (n *NIC) Poll(now units.Time) units.Time {
	n.now = now
	if n.dirty || !now.Before(n.next) {
		n.dirty = false
		n.next = n.poll(now)
	}
	return n.next
}

func (n *NIC) poll(now units.Time) units.Time {
	if n.lifecycle.waiting() > 0 {
		n.reportLifecycle(now)
	}
	next := now.Add(units.Forever)
	for i := range n.engines {
		e := &n.engines[i]
		if e.due(now) {
			n.swap(e, now)
		} else if e.at < len(e.halves[1-e.now]) {
			n.drain(e, now)
		}
		if e.period > 0 && len(e.halves[e.now]) > 0 {
			next = units.Earlier(next, e.end)
		}
	}
	if n.timing > 0 {
		n.runTimers(now)
	}
	n.flushIfDue(now)
	if n.merged.waiting()+n.raw.waiting() > 0 {
		next = units.Earlier(next, n.oldest.Add(n.agg.Deadline))
	}
	if n.timing > 0 {
		if at, ok := n.timers.Next(); ok {
			next = units.Earlier(next, at)
		}
	}
	return next
}

// Result implements Datapath.
func (n *NIC) Result(r *Result) bool {
	for len(n.changed) > 0 {
		last := len(n.changed) - 1
		f := &n.flows[n.changed[last]]
		n.changed = n.changed[:last]
		f.changed = false
		if f.open {
			r.Flow, r.Decision = f.handle, f.result
			if f.probeAt != 0 {
				r.Decision.ProbeAt, f.probeAt = f.probeAt, 0
			}
			return true
		}
	}
	return false
}

// Silence implements Datapath. Its precision is the interval between calls.
func (n *NIC) Silence(now units.Time) units.Duration {
	if n.fetches != n.seenFetches || n.merged.used()+n.raw.used() == 0 {
		n.seenFetches, n.fetchedAt = n.fetches, now
	}
	return now.Sub(n.fetchedAt)
}
