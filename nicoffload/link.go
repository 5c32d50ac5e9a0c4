package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Link is the memory between a NIC and the agent's core: a ring of messages up, one of commands
// down, and the NIC's counters. Its layout is in docs/nicoffload.md.
type Link struct{ mem []byte }

// How many Slots the rings of a Link have.
const (
	UpSlots   = 4096
	DownSlots = 1024
)

// The layout of a Link: what is where.
const (
	linkMagic   = 0x63696e67 // "gnic"
	linkVersion = 1

	linkTime     = 16 // of the NIC's clock, when it last polled
	linkAsked    = 24 // how often the agent has asked for the counters
	linkCounters = 64
	linkUp       = linkCounters + countersBytes
	linkDown     = linkUp + ringHeader + UpSlots*Slot

	// LinkBytes is how much memory a Link takes.
	LinkBytes = linkDown + ringHeader + DownSlots*Slot
)

// NewLink makes a Link in memory of this process.
func NewLink() *Link {
	l, err := MakeLink(AlignedMemory(LinkBytes))
	if err != nil {
		panic(err) // it is as large as it says
	}
	return l
}

// MakeLink makes a Link in memory, which begins at a multiple of 8 and is all zeros.
func MakeLink(mem []byte) (*Link, error) {
	if len(mem) < LinkBytes {
		return nil, fmt.Errorf("nicoffload: a link in %d bytes, it takes %d", len(mem), LinkBytes)
	}
	le.PutUint32(mem, linkMagic)
	le.PutUint32(mem[4:], linkVersion)
	le.PutUint32(mem[8:], UpSlots)
	le.PutUint32(mem[12:], DownSlots)
	return &Link{mem}, nil
}

// OpenLink finds the Link that somebody else made in memory.
func OpenLink(mem []byte) (*Link, error) {
	if len(mem) < LinkBytes {
		return nil, fmt.Errorf("nicoffload: a link in %d bytes, it takes %d", len(mem), LinkBytes)
	}
	if m, v, up, down := le.Uint32(mem), le.Uint32(mem[4:]), le.Uint32(mem[8:]),
		le.Uint32(mem[12:]); m != linkMagic || v != linkVersion || up != UpSlots ||
		down != DownSlots {
		return nil, fmt.Errorf("nicoffload: no link of version %d with %d and %d slots, it says "+
			"%#x, version %d, %d and %d", linkVersion, UpSlots, DownSlots, m, v, up, down)
	}
	return &Link{mem}, nil
}

// Host is the agent's end of a Link: a Device.
type Host struct {
	mem   []byte
	up    *Consumer
	down  *Producer
	caps  Capabilities
	batch [64 * Slot]byte
	cmd   command
	torn  uint64
}

// Host makes the agent's end, and lets the NIC tell which flows there are: an agent before may have
// known them, this one does not.
func (l *Link) Host() (*Host, error) {
	up, err := NewConsumer(l.mem[linkUp:], UpSlots)
	if err != nil {
		return nil, err
	}
	down, err := NewProducer(l.mem[linkDown:], DownSlots)
	if err != nil {
		return nil, err
	}
	h := &Host{mem: l.mem, up: up, down: down, caps: Capabilities{
		Name: "soft, behind a link", Flows: MaxFlows - 1, Extractions: maxExtractions,
		Events: cc.EventSet(1)<<len(natural) - 1, Tick: units.Picosecond,
	}}
	h.cmd.op = opHello
	return h, h.send("hello")
}

// Capabilities implements Device.
func (h *Host) Capabilities() Capabilities { return h.caps }

func (h *Host) send(what string) error {
	h.cmd.encode(h.batch[:])
	if !h.down.Push(h.batch[:Slot]) {
		return fmt.Errorf("nicoffload: %s: %w", what, ErrBusy)
	}
	return nil
}

// Configure implements Device.
func (h *Host) Configure(f Handle, b Binding) error {
	if err := b.Validate(); err != nil {
		return err
	}
	h.cmd = command{op: opConfigure, flow: f, binding: b}
	return h.send("configure")
}

// Aggregate implements Device.
func (h *Host) Aggregate(a Aggregation) error {
	if err := a.Validate(); err != nil {
		return err
	}
	h.cmd = command{op: opAggregate, aggregation: a}
	return h.send("aggregate")
}

// Extract implements Device.
func (h *Host) Extract(x Extraction) error {
	if err := x.Validate(); err != nil {
		return err
	}
	h.cmd = command{op: opExtract, extraction: x}
	return h.send("extract")
}

// Probe implements Device.
func (h *Host) Probe(f Handle) error {
	h.cmd = command{op: opProbe, flow: f}
	return h.send("probe")
}

// Fetch implements Device.
func (h *Host) Fetch(b []byte) int {
	n, torn := h.up.PullMessages(b)
	if torn {
		h.torn++
	}
	return n
}

// Backlog implements Device.
func (h *Host) Backlog() (used, size int) { return h.up.Waiting(), UpSlots }

// Write implements Device: as many as there is room for, in one go, for each go makes the NIC's
// core fetch a cache line from this one's.
func (h *Host) Write(results []Result) (n int) {
	for n < len(results) {
		some := min(len(results)-n, h.down.roomFor(1), len(h.batch)/Slot)
		if some == 0 {
			break
		}
		for i := range some {
			h.cmd.op, h.cmd.flow, h.cmd.result = opResult, results[n+i].Flow, results[n+i].Decision
			h.cmd.encode(h.batch[i*Slot:])
		}
		h.down.Push(h.batch[:some*Slot])
		n += some
	}
	return n
}

// NICTime answers what the NIC's clock showed when it last polled: an agent in another process has
// no other way to know.
func (h *Host) NICTime() units.Time { return units.Time(word(h.mem[linkTime:]).Load()) }

// Counters implements Device: the NIC's, as it showed them last, and what this end could not read.
// It asks for newer ones, which the NIC's next Poll shows.
func (h *Host) Counters() (c Counters) {
	word(h.mem[linkAsked:]).Add(1)
	c.read(h.mem[linkCounters:])
	c.Malformed += h.torn + h.up.broken
	return c
}

// Board is the NIC's end of a Link: the soft NIC behind it. It implements Datapath.
type Board struct {
	nic   *NIC
	mem   []byte
	up    *Producer
	down  *Consumer
	burst []byte
	cmd   command

	agent    watch
	answered uint64     // times that the counters were asked for
	at       units.Time // when they were shown
	shown    units.Time // the time was
}

// Board makes the NIC's end.
func (l *Link) Board(n *NIC) (*Board, error) {
	up, err := NewProducer(l.mem[linkUp:], UpSlots)
	if err != nil {
		return nil, err
	}
	down, err := NewConsumer(l.mem[linkDown:], DownSlots)
	if err != nil {
		return nil, err
	}
	return &Board{nic: n, mem: l.mem, up: up, down: down, burst: make([]byte, UpSlots*Slot),
		agent: watch{end: up.end, heard: n.now}, at: n.now}, nil
}

// Open implements Datapath.
func (b *Board) Open(f Handle, first cc.Decision, now units.Time) { b.nic.Open(f, first, now) }

// Close implements Datapath.
func (b *Board) Close(f Handle, now units.Time) { b.nic.Close(f, now) }

// Report implements Datapath.
func (b *Board) Report(f Handle, ev *cc.Event, now units.Time) { b.nic.Report(f, ev, now) }

// Result implements Datapath.
func (b *Board) Result(r *Result) bool { return b.nic.Result(r) }

// showEvery is how old the time in the Link may be.
const showEvery = 5 * units.Microsecond

// publishEvery is how old the counters in the Link may be when nobody asks for them.
const publishEvery = units.Millisecond

// Poll implements Datapath: commands, then what time brings, then messages.
func (b *Board) Poll(now units.Time) units.Time {
	n := b.nic
	n.now = now
	if now.Sub(b.shown) >= showEvery {
		word(b.mem[linkTime:]).Store(uint64(now))
		b.shown = now
	}
	for b.down.Waiting() > 0 {
		got := b.down.Pull(b.burst[:64*Slot])
		for at := 0; at < got; at += Slot {
			b.obey(b.burst[at : at+Slot])
		}
	}
	next := n.Poll(now)
	if n.merged.head != n.merged.flushed || n.raw.head != n.raw.flushed {
		if room := b.up.roomFor(MaxMessage / Slot); room > 0 {
			if got := n.Fetch(b.burst[:room*Slot]); got > 0 {
				b.up.Push(b.burst[:got])
			}
		}
	}
	if asked := word(b.mem[linkAsked:]).Load(); asked != b.answered ||
		now.Sub(b.at) >= publishEvery {
		b.answered, b.at = asked, now
		n.counters.publish(b.mem[linkCounters:])
	}
	return next
}

// obey does a command. One that says nothing sensible is counted.
func (b *Board) obey(slot []byte) {
	n, c := b.nic, &b.cmd
	if op(slot[4]) == opResult { // most are
		decodeResult(slot, &c.result)
		n.write(Handle(le.Uint32(slot)), &c.result)
		return
	}
	if c.decode(slot) != nil {
		n.counters.Refused++
		return
	}
	var err error
	switch c.op {
	case opConfigure:
		err = n.Configure(c.flow, c.binding)
	case opAggregate:
		err = n.Aggregate(c.aggregation)
	case opExtract:
		err = n.Extract(c.extraction)
	case opProbe:
		err = n.Probe(c.flow)
	case opHello:
		n.announce()
	}
	if err != nil {
		n.counters.Refused++
	}
}

// Silence implements Datapath: the agent's end of the ring has not moved.
func (b *Board) Silence(now units.Time) units.Duration { return b.agent.silence(now) }
