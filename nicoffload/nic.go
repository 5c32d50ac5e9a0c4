package nicoffload

import (
	"fmt"
	"math/bits"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/units"
)

// Config is what a NIC is made with.
type Config struct {
	Flows       int         // that there is room for at once; more make it grow
	Queue       int         // Slots of each of its two message queues; 0 is DefaultQueue
	Aggregation Aggregation // until somebody asks for another one
	LineRate    units.BitRate
}

// DefaultQueue is how many Slots a queue of messages has.
const DefaultQueue = 4096

// NIC is TAURUS's hardware part in software: it collects signals, merges them by their class, makes
// messages, and keeps the last result of each flow. It is both sides of the boundary: the polling
// core calls the methods of Datapath, the agent those of Device. They may do so on one core only;
// Link puts a core or a process between.
type NIC struct {
	config   Config
	flows    []context
	timed    []timedContext // what time drives, apart from what data drives (section 3.3)
	timers   *pace.Wheel
	timing   int       // flows with a timer of the NIC's
	engines  [2]engine // of Accumulable and Coalescent
	agg      Aggregation
	segments []Extraction

	untold      lives
	merged, raw fifo
	oldest      units.Time // when the oldest message that waits to be flushed came
	scratch     Message
	frame       [MaxMessage]byte
	event       cc.Event

	touched  bool       // something happened since the last Poll
	next     units.Time // what it answered
	changed  []uint32   // flows whose result is new
	now      units.Time
	fetches  uint64
	seen     uint64 // fetches, when Silence last looked
	heard    units.Time
	counters Counters
}

// context is what the NIC knows of a flow: what signals touch first, then its result.
type context struct {
	handle  Handle
	open    bool
	brief   bool
	changed bool
	ways    [16]way // of each kind
	refs    [slots]ref
	result  cc.Decision
	probeAt units.Time // a probe on command, which the pipeline has not heard of; 0 is none
	arrival arrival
}

// NewNIC makes one at a time.
func NewNIC(c Config, now units.Time) (*NIC, error) {
	if err := c.Aggregation.Validate(); err != nil {
		return nil, err
	}
	if c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	if c.Queue < 2*MaxMessage/Slot || bits.OnesCount(uint(c.Queue)) != 1 || c.Queue > 1<<24 {
		return nil, fmt.Errorf(
			"nicoffload: a queue of %d slots: it is a power of two from %d to %d", c.Queue, 32,
			1<<24)
	}
	if c.Flows < 0 || c.Flows >= MaxFlows {
		return nil, fmt.Errorf("nicoffload: %d flows, less than %d are possible", c.Flows, MaxFlows)
	}
	n := &NIC{config: c, timers: pace.New(now), merged: newFifo(c.Queue), raw: newFifo(c.Queue),
		now: now, heard: now, touched: true, agg: c.Aggregation}
	n.engines[0] = engine{class: Accumulable, epoch: 1}
	n.engines[1] = engine{class: Coalescent, epoch: 1}
	n.engines[0].configure(c.Aggregation.Accumulable, now)
	n.engines[1].configure(c.Aggregation.Coalescent, now)
	n.flows = make([]context, 0, c.Flows)
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
	n.now, n.touched = now, true
	i := int(h.Index())
	if i >= MaxFlows-1 {
		n.counters.Unknown++
		return
	}
	for i >= len(n.flows) {
		n.flows = append(n.flows, context{})
		n.timed = append(n.timed, timedContext{})
	}
	n.growEngines()
	n.flows[i] = context{handle: h, open: true, changed: n.flows[i].changed, result: first}
	n.bindTimed(h, Binding{})
	n.timed[i] = timedContext{}
	n.bind(&n.flows[i], Binding{})
	n.untold.add(life{h, Started, now})
	n.tellLives(now)
}

// Close implements Datapath.
func (n *NIC) Close(h Handle, now units.Time) {
	n.now, n.touched = now, true
	if f := n.find(h); f != nil {
		*f = context{handle: h, changed: f.changed}
		n.bindTimed(h, Binding{})
		n.untold.add(life{h, Stopped, now})
		n.tellLives(now)
	}
}

// find answers the context of a flow that is open, and counts one that is not.
func (n *NIC) find(h Handle) *context {
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

// way is what becomes of a flow's signals of one kind.
type way struct {
	class Class
	slot  uint8 // of the cell they are merged in; noSlot is reported as it comes
	wants bool
}

func (n *NIC) bind(f *context, b Binding) {
	f.brief = b.Brief
	for i := range natural {
		k, w := cc.Kind(i), natural[i]
		w.wants = b.Events == 0 || b.Events.Has(k)
		if b.Merged.Has(k) {
			w.class = Accumulable
		}
		if w.class == Raw || b.Raw.Has(k) {
			w.class, w.slot = Raw, noSlot
		}
		f.ways[k] = w
	}
}

// Report implements Datapath: one signal into its engine.
func (n *NIC) Report(h Handle, ev *cc.Event, now units.Time) {
	n.counters.Signals++
	n.now, n.touched = now, true
	f := n.find(h)
	if f == nil {
		return
	}
	w := f.ways[ev.Kind&15]
	if !w.wants || ev.Kind > 15 {
		n.counters.Unbound++
		return
	}
	if w.slot == noSlot || ev.Probe || len(ev.INT) > 0 || ev.SRC.Rate != 0 { // a sum cannot say it
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
func (n *NIC) report(f *context, ev *cc.Event, class Class, now units.Time) {
	length := encodeEvent(n.frame[:], typeOf[ev.Kind], class, ev, 0, nil, f.brief)
	le.PutUint32(n.frame[:], uint32(f.handle))
	le.PutUint16(n.frame[6:], 1)
	le.PutUint64(n.frame[16:], uint64(now))
	n.pushRaw(length, now)
}

// pushRaw queues the message in frame, unless it gives way itself.
func (n *NIC) pushRaw(length int, now units.Time) {
	b := n.frame[:length]
	for n.raw.room() < length {
		if !single(b) && 2*n.raw.singles > n.raw.used() {
			n.countEvicted(b)
			return
		}
		n.evict()
	}
	n.enqueue(&n.raw, length, now)
	n.flushTest(now)
}

// evict takes out the oldest raw message: fetched or not, it can be merged with nothing. Those that
// are single go behind the others, unless there are no others.
func (n *NIC) evict() {
	q := &n.raw
	for q.singles < q.used() && single(q.at(q.head)) {
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

// mergedLen is the longest message that an engine makes.
const mergedLen = 3 * Slot

// emitFull reports a cell that can count no further, when there is room; else it goes on summing
// up.
func (n *NIC) emitFull(e *engine, c *cell, f *context, slot uint8, now units.Time) {
	if n.merged.room() < mergedLen {
		c.count--
		c.saturate()
		return
	}
	n.emit(c, e.class, f.brief, now)
	c.flow, f.refs[slot] = reported, ref{}
	n.flushTest(now)
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
	if e.epoch == 1 { // they have wrapped: no flow's ref may be of an epoch that comes again
		for i := range n.flows {
			n.flows[i].refs = [slots]ref{}
		}
	}
	n.drain(e, now)
}

// drain makes messages of the drained half, as many as there is room for.
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

// announce tells of every flow that is open, again, to an agent that knows of none.
func (n *NIC) announce() {
	n.touched = true
	n.untold.clear()
	for i := range n.flows {
		if f := &n.flows[i]; f.open {
			n.untold.add(life{f.handle, Started, n.now})
		}
	}
	n.tellLives(n.now)
}

// tellLives reports which flows began and ended: those messages are never lost, they wait for room.
func (n *NIC) tellLives(now units.Time) {
	for l, some := n.untold.next(); some; l, some = n.untold.next() {
		if n.merged.room() < Slot {
			break
		}
		m := &n.scratch
		*m = Message{Flow: l.flow, Type: l.t, Count: 1, First: l.at}
		n.enqueue(&n.merged, m.Encode(n.frame[:], true), now)
		n.untold.told()
	}
	n.flushTest(now)
}

// flushTest moves what waits when it is enough, or has waited long enough.
func (n *NIC) flushTest(now units.Time) {
	waiting := n.merged.waiting() + n.raw.waiting()
	if waiting == 0 || waiting <= int(n.agg.Threshold) && now.Sub(n.oldest) < n.agg.Deadline {
		return
	}
	_, a := n.merged.flush(uint64(now))
	_, b := n.raw.flush(uint64(now))
	n.counters.Bursts++
	n.counters.Bytes += a + b
}

// Poll implements Datapath: periods that end, timers, messages that have waited long enough.
func (n *NIC) Poll(now units.Time) units.Time {
	n.now = now
	if n.touched || !now.Before(n.next) {
		n.touched = false
		n.next = n.poll(now)
	}
	return n.next
}

func (n *NIC) poll(now units.Time) units.Time {
	if n.untold.waiting() > 0 {
		n.tellLives(now)
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
	n.flushTest(now)
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

// Silence implements Datapath. It is as precise as it is asked often.
func (n *NIC) Silence(now units.Time) units.Duration {
	if n.fetches != n.seen || n.merged.used()+n.raw.used() == 0 {
		n.seen, n.heard = n.fetches, now
	}
	return now.Sub(n.heard)
}
