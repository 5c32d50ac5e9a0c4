package transport

import (
	"flag"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

var seedFlag = flag.Uint64("seed", 0, "run a randomized test with this seed alone")

// testSeed returns the seed of a randomized test, and prints it so that a failure can be replayed
// with -seed.
func testSeed(t *testing.T) uint64 {
	seed := max(*seedFlag, 1) // the same by default: a failure is due to a change
	t.Logf("-seed=%d", seed)
	return seed
}

// link is a port whose frames arrive at its peer after a delay, in virtual time. tamper may drop,
// change or repeat frames.
type link struct {
	name    string
	mac     [6]byte
	peer    *link
	delay   units.Duration
	now     *units.Time
	inbox   []packet.Buf
	free    []packet.Buf
	out     int // buffers allocated and not returned
	room    int // frames that fit into the peer's inbox; 0 means any number
	tamper  func(frame []byte) (copies int)
	sent    [][]byte // copies of everything sent, when recording
	record  bool
	noAlloc bool
	classes int                               // transmit queues; 0 means 1
	sentIn  []packet.Class                    // of everything in sent
	swap    func() bool                       // whether a frame overtakes the one before it
	late    func(frame []byte) units.Duration // additional delay; other frames overtake it
}

const linkBuffer = 4096 + 128

func newLink(name string, last byte, now *units.Time) *link {
	return &link{name: name, mac: [6]byte{2, 0, 0, 0, 0, last}, delay: units.Microsecond, now: now}
}

func (l *link) Info() packet.Info {
	return packet.Info{Name: l.name, Driver: "link", MAC: l.mac, MTU: 4200,
		Classes: max(l.classes, 1), TxDepth: 1024, Reliable: true}
}

func (l *link) Alloc(bufs []packet.Buf) int {
	if l.noAlloc {
		return 0
	}
	for i := range bufs {
		if n := len(l.free); n > 0 {
			bufs[i] = l.free[n-1]
			l.free = l.free[:n-1]
		} else {
			bufs[i] = packet.MakeBuf(0, make([]byte, 0, linkBuffer))
		}
		l.out++
	}
	return len(bufs)
}

func (l *link) Free(bufs []packet.Buf) {
	l.free = append(l.free, bufs...)
	l.out -= len(bufs)
}

func (l *link) Send(class packet.Class, bufs []packet.Buf) int {
	for i := range bufs {
		if l.room > 0 && len(l.peer.inbox) >= l.room {
			return i
		}
		copies := 1
		if l.record {
			l.sent = append(l.sent, append([]byte(nil), bufs[i].Data()...))
			l.sentIn = append(l.sentIn, class)
		}
		if l.tamper != nil {
			copies = l.tamper(bufs[i].Data())
		}
		l.trace(bufs[i].Data(), copies)
		for range copies {
			var one [1]packet.Buf
			if l.peer.Alloc(one[:]) == 0 {
				continue // like a NIC without buffers
			}
			b := one[0]
			b.SetLen(copy(b.Room(), bufs[i].Data()))
			b.Time = l.now.Add(l.delay)
			if l.late != nil {
				b.Time = b.Time.Add(l.late(bufs[i].Data()))
			}
			at := len(l.peer.inbox)
			for at > 0 && l.peer.inbox[at-1].Time.After(b.Time) {
				at--
			}
			q := slices.Insert(l.peer.inbox, at, b)
			if n := len(q); n > 1 && l.swap != nil && l.swap() {
				q[n-1], q[n-2] = q[n-2], q[n-1]
				q[n-1].Time, q[n-2].Time = q[n-2].Time, q[n-1].Time
			}
			l.peer.inbox = q
		}
		l.Free(bufs[i : i+1])
	}
	return len(bufs)
}

func (l *link) Recv(bufs []packet.Buf) int {
	n := 0
	for n < len(bufs) && n < len(l.inbox) && !l.inbox[n].Time.After(*l.now) {
		bufs[n] = l.inbox[n]
		n++
	}
	l.inbox = append(l.inbox[:0], l.inbox[n:]...)
	return n
}

// pair is two endpoints, a client and a server, on one link, in virtual time.
type pair struct {
	t        testing.TB
	now      units.Time
	a, b     *Endpoint
	la, lb   *link
	deadline map[*Endpoint]units.Time
	tick     units.Duration // between rounds of a benchmark; 0 means a nanosecond
}

func newPair(t testing.TB) *pair {
	p := &pair{t: t, deadline: map[*Endpoint]units.Time{}}
	p.la, p.lb = newLink("a", 1, &p.now), newLink("b", 2, &p.now)
	p.la.peer, p.lb.peer = p.lb, p.la
	var err error
	p.a, err = New(Config{Port: p.la, Addrs: prefixes("10.0.0.1/24"), Seed: 1}, 0)
	require.NoError(t, err)
	p.b, err = New(Config{Port: p.lb, Addrs: prefixes("10.0.0.2/24"), Seed: 2}, 0)
	require.NoError(t, err)
	return p
}

func prefixes(s ...string) (ps []netip.Prefix) {
	for _, x := range s {
		ps = append(ps, netip.MustParsePrefix(x))
	}
	return ps
}

// step polls both ends now and returns the time of the next event.
func (p *pair) step() (next units.Time) {
	next = units.Earlier(p.a.Poll(p.now), p.b.Poll(p.now))
	for _, l := range []*link{p.la, p.lb} {
		if len(l.inbox) > 0 {
			next = units.Earlier(next, l.inbox[0].Time)
		}
	}
	return next
}

// run runs, from event to event, until done returns true, for at most d of virtual time.
func (p *pair) run(d units.Duration, done func() bool) bool {
	end := p.now.Add(d)
	for {
		next := p.step()
		if done() {
			return true
		}
		if next.After(end) {
			p.now = end
			return false
		}
		if next.After(p.now) {
			p.now = next
		}
	}
}

// settle runs for d.
func (p *pair) settle(d units.Duration) { p.run(d, func() bool { return false }) }

// side is a queue pair with all that it needs, on one end of a pair.
type side struct {
	ep   *Endpoint
	pd   *ProtectionDomain
	cq   *CompletionQueue
	qp   *QueuePair
	mr   *MemoryRegion
	mem  []byte
	comp []WorkCompletion
}

type sideOptions struct {
	kind      QPType
	mtu       units.Bytes
	depth     int
	memory    int
	psn       wire.PSN
	access    Access
	timeout   uint8
	retries   uint8
	rnr       uint8
	reads     int
	sges      int
	inline    int
	srq       *SharedReceiveQueue
	pd        *ProtectionDomain
	algorithm cc.Algorithm
	sack      uint16 // bits agreed; 0: go-back-N
	features  wire.Features
	offers    bool // use the outcome of both offers, less what is in without
	without   wire.Features
	admit     func() (cc.Gate, cc.Granter)
	class     uint8 // traffic class of requests
	answers   uint8 // and of responses

	rtoLow, rtoHigh units.Duration
	reordering      units.Duration
	maxInFlight     units.Bytes
}

func defaults() sideOptions {
	return sideOptions{mtu: units.KiB, depth: 128, memory: 1 << 16, psn: 100,
		access:  LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic,
		timeout: 4, retries: 7, rnr: 7, reads: 16, sges: 4, inline: 64}
}

func (o sideOptions) make(t testing.TB, e *Endpoint) *side {
	s := &side{ep: e, pd: o.pd, mem: make([]byte, o.memory)}
	if s.pd == nil {
		s.pd = e.AllocPD()
	}
	var err error
	s.cq, err = e.CreateCQ(4 * o.depth)
	require.NoError(t, err)
	s.mr, err = e.RegisterMemory(s.pd, s.mem, o.access)
	require.NoError(t, err)
	s.qp, err = e.CreateQP(QPInit{Type: o.kind, PD: s.pd, SendCQ: s.cq, RecvCQ: s.cq, SRQ: o.srq,
		MaxSendWR: o.depth, MaxRecvWR: o.depth,
		MaxSendSGE: o.sges, MaxRecvSGE: o.sges, MaxInline: o.inline, Algorithm: o.algorithm})
	require.NoError(t, err)
	if o.admit != nil {
		g, r := o.admit()
		require.NoError(t, s.qp.admit(g, r))
		require.Empty(t, o.features&^wire.FeatureToken)
		if _, credits := r.(cc.CreditGranter); credits {
			require.NoError(t, s.qp.consumeOnPost())
		}
	}
	return s
}

// tag returns the tag of extension packets to this side.
func (s *side) tag() uint16 { return uint16(s.qp.Num) | 0x4000 }

func (s *side) connect(t testing.TB, o sideOptions, to *side) {
	dst := to.ep.neighbors
	var ip netip.Addr
	for _, a := range []string{"10.0.0.1", "10.0.0.2"} {
		if dst.Owns(netip.MustParseAddr(a)) {
			ip = netip.MustParseAddr(a)
		}
	}
	require.NoError(t, s.qp.Connect(QPAttr{
		Access: RemoteWrite | RemoteRead | RemoteAtomic, QKey: 0x11111111,
		Path: AddressVector{IP: ip, TrafficClass: o.class}, AnswerClass: o.answers,
		PathMTU: o.mtu, DestQPN: to.qp.Num, RecvPSN: o.psn, MaxDestRdAtomic: o.reads,
		MinRNRTimer: 1, Extension: s.agreement(o, to),
		SendPSN: o.psn, Timeout: o.timeout, RetryCount: o.retries, RNRRetry: o.rnr,
		MaxRdAtomic: o.reads, RTOLow: o.rtoLow, RTOHigh: o.rtoHigh, Reordering: o.reordering,
		MaxInFlight: o.maxInFlight,
	}))
}

func (s *side) agreement(o sideOptions, to *side) wire.Agreement {
	if o.offers {
		theirs := to.qp.Offer()
		theirs.Features &^= o.without
		x := wire.Agree(s.qp.Offer(), theirs)
		x.SendTag, x.RecvTag = to.tag(), s.tag()
		return x
	}
	if o.sack > 0 {
		o.features |= wire.FeatureSACK
	}
	if o.features == 0 {
		return wire.Agreement{}
	}
	return wire.Agreement{Features: o.features, SendTag: to.tag(), RecvTag: s.tag(),
		SACKBits: o.sack}
}

// connected creates a connected queue pair on each end.
func (p *pair) connected(o sideOptions) (a, b *side) {
	a, b = o.make(p.t, p.a), o.make(p.t, p.b)
	a.connect(p.t, o, b)
	b.connect(p.t, o, a)
	return a, b
}

// poll collects completions.
func (s *side) poll() []WorkCompletion {
	var wcs [16]WorkCompletion
	for {
		n := s.cq.Poll(wcs[:])
		if n == 0 {
			return s.comp
		}
		s.comp = append(s.comp, wcs[:n]...)
	}
}

// await runs the pair until s has n completions, and returns them.
func (p *pair) await(s *side, n int) []WorkCompletion {
	p.t.Helper()
	require.True(p.t, p.run(20*units.Second, func() bool { return len(s.poll()) >= n }),
		"%d of %d completions at %v\na %+v\nb %+v", len(s.comp), n, p.now, p.a.counters,
		p.b.counters)
	got := s.comp
	s.comp = nil
	return got
}

func (s *side) post(t testing.TB, wr WorkRequest) {
	t.Helper()
	require.NoError(t, s.qp.PostSend(&wr))
}

func (s *side) recv(t testing.TB, id uint64, offset, n int) {
	t.Helper()
	require.NoError(t, s.qp.PostRecv(&RecvRequest{ID: id, SGList: []SGE{s.mr.SGE(offset, n)}}))
}

// fill writes a pattern that differs from every shift of itself.
func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i*7+i>>8) + seed
	}
}

// conserved checks that all buffers were returned.
func (p *pair) conserved() {
	p.t.Helper()
	p.settle(20 * units.Millisecond)
	p.a.Close()
	p.b.Close()
	require.Zero(p.t, p.la.out, "buffers of a")
	require.Zero(p.t, p.lb.out, "buffers of b")
}
