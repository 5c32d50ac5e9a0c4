package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Link is the shared memory between a NIC and the agent's core: a ring of messages up, a ring of
// commands down, and the NIC's counters. docs/nicoffload.md specifies its layout.
type Link struct{ mem []byte }

// The numbers of Slots of the rings of a Link.
const (
	UpSlots   = 4096
	DownSlots = 1024
)

// The layout of a Link.
const (
	linkMagic   = 0x63696e67 // "gnic"
	linkVersion = 1

	linkTime     = 16 // the NIC's clock at its last poll
	linkRequests = 24 // number of requests for the counters
	linkCounters = 64
	linkUp       = linkCounters + countersBytes
	linkDown     = linkUp + ringHeader + UpSlots*Slot

	// LinkBytes is the size of a Link.
	LinkBytes = linkDown + ringHeader + DownSlots*Slot
)

// NewLink returns a Link in memory of this process.
func NewLink() *Link {
	l, err := InitLink(AlignedMemory(LinkBytes))
	if err != nil {
		panic(err) // impossible: the memory has the required size and alignment
	}
	return l
}

// InitLink initializes a Link in memory that is zeroed and begins at a multiple of 8.
func InitLink(mem []byte) (*Link, error) {
	if len(mem) < LinkBytes {
		return nil, fmt.Errorf("nicoffload: link in %d bytes, want %d", len(mem), LinkBytes)
	}
	le.PutUint32(mem, linkMagic)
	le.PutUint32(mem[4:], linkVersion)
	le.PutUint32(mem[8:], UpSlots)
	le.PutUint32(mem[12:], DownSlots)
	return &Link{mem}, nil
}

// OpenLink returns the Link that another process has initialized in memory.
func OpenLink(mem []byte) (*Link, error) {
	if len(mem) < LinkBytes {
		return nil, fmt.Errorf("nicoffload: link in %d bytes, want %d", len(mem), LinkBytes)
	}
	if m, v, up, down := le.Uint32(mem), le.Uint32(mem[4:]), le.Uint32(mem[8:]),
		le.Uint32(mem[12:]); m != linkMagic || v != linkVersion || up != UpSlots ||
		down != DownSlots {
		return nil, fmt.Errorf("nicoffload: link with magic %#x, version %d, %d and %d slots, "+
			"want %#x, version %d, %d and %d", m, v, up, down, linkMagic, linkVersion, UpSlots,
			DownSlots)
	}
	return &Link{mem}, nil
}

// Host is the agent's end of a Link, a Device.
type Host struct {
	mem       []byte
	up        *Consumer
	down      *Producer
	caps      Capabilities
	batch     [64 * Slot]byte
	cmd       command
	malformed uint64
}

// Host returns the agent's end. It requests a report of all flows from the NIC, since a previous
// agent may have known them, but this one does not.
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
		Events: cc.EventSet(1)<<len(defaultRoutes) - 1, Tick: units.Picosecond,
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
		h.malformed++
	}
	return n
}

// Backlog implements Device.
func (h *Host) Backlog() (used, size int) { return h.up.Waiting(), UpSlots }

// Write implements Device. It writes as many results as fit at once, since each write makes the
// NIC's core fetch a cache line from this one.
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

// NICTime returns the NIC's clock at its last poll, which an agent in another process uses as its
// time.
func (h *Host) NICTime() units.Time { return units.Time(word(h.mem[linkTime:]).Load()) }

// Counters implements Device. It returns the NIC's counters as last published, plus the malformed
// records found at this end, and requests newer values, which the NIC's next Poll publishes.
func (h *Host) Counters() (c Counters) {
	word(h.mem[linkRequests:]).Add(1)
	c.read(h.mem[linkCounters:])
	c.Malformed += h.malformed + h.up.broken
	return c
}

// NICSide is the NIC's end of a Link, with the soft NIC behind it. It implements Datapath.
type NICSide struct {
	nic   *NIC
	mem   []byte
	up    *Producer
	down  *Consumer
	burst []byte
	cmd   command

	agent            consumerWatch
	answeredRequests uint64     // requests for the counters that were answered
	countersAt       units.Time // when the counters were published
	timeAt           units.Time // when the time was published
}

// NICSide returns the NIC's end.
func (l *Link) NICSide(n *NIC) (*NICSide, error) {
	up, err := NewProducer(l.mem[linkUp:], UpSlots)
	if err != nil {
		return nil, err
	}
	down, err := NewConsumer(l.mem[linkDown:], DownSlots)
	if err != nil {
		return nil, err
	}
	return &NICSide{nic: n, mem: l.mem, up: up, down: down, burst: make([]byte, UpSlots*Slot),
		agent: consumerWatch{ringEnd: up.ringEnd, movedAt: n.now}, countersAt: n.now}, nil
}

// Open implements Datapath.
func (b *NICSide) Open(f Handle, first cc.Decision, now units.Time) { b.nic.Open(f, first, now) }

// Close implements Datapath.
func (b *NICSide) Close(f Handle, now units.Time) { b.nic.Close(f, now) }

// Report implements Datapath.
func (b *NICSide) Report(f Handle, ev *cc.Event, now units.Time) { b.nic.Report(f, ev, now) }

// Result implements Datapath.
func (b *NICSide) Result(r *Result) bool { return b.nic.Result(r) }

// maxTimeAge is the maximum age of the time in the Link.
const maxTimeAge = 5 * units.Microsecond

// maxCountersAge is the maximum age of the counters in the Link without requests.
const maxCountersAge = units.Millisecond

// Poll implements Datapath: commands, then the NIC's work, then messages.
func (b *NICSide) Poll(now units.Time) units.Time {
	n := b.nic
	n.now = now
	if now.Sub(b.timeAt) >= maxTimeAge {
		word(b.mem[linkTime:]).Store(uint64(now))
		b.timeAt = now
	}
	for b.down.Waiting() > 0 {
		got := b.down.Pull(b.burst[:64*Slot])
		for at := 0; at < got; at += Slot {
			b.execute(b.burst[at : at+Slot])
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
	if asked := word(b.mem[linkRequests:]).Load(); asked != b.answeredRequests ||
		now.Sub(b.countersAt) >= maxCountersAge {
		b.answeredRequests, b.countersAt = asked, now
		n.counters.publish(b.mem[linkCounters:])
	}
	return next
}

// execute executes a command. An invalid one is counted.
func (b *NICSide) execute(slot []byte) {
	n, c := b.nic, &b.cmd
	if op(slot[4]) == opResult { // the most frequent command
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
		n.announceFlows()
	}
	if err != nil {
		n.counters.Refused++
	}
}

// Silence implements Datapath: for how long the agent's end of the ring has not moved.
func (b *NICSide) Silence(now units.Time) units.Duration { return b.agent.silence(now) }
