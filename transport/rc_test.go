package transport

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Sizes around every boundary of a path MTU of 1024.
var sizes = []int{0, 1, 2, 3, 4, 63, 1023, 1024, 1025, 2047, 2048, 2049, 3001, 10000, 40000}

func TestSendDeliversEverySize(t *testing.T) {
	for _, n := range sizes {
		p := newPair(t)
		a, b := p.connected(defaults())
		fill(a.mem[:n], 3)
		b.recv(t, 7, 0, n)
		a.post(t, WorkRequest{ID: 5, Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, n)}})
		require.Equal(t, []WorkCompletion{{ID: 5, Op: OpSend, QPN: a.qp.Num}}, p.await(a, 1),
			"%d bytes", n)
		require.Equal(t, []WorkCompletion{{ID: 7, Op: OpRecv, QPN: b.qp.Num, ByteLen: uint32(n)}},
			p.await(b, 1), "%d bytes", n)
		require.True(t, bytes.Equal(a.mem[:n], b.mem[:n]), "%d bytes", n)
		p.conserved()
	}
}

func TestWriteReadEverySizeAndMTU(t *testing.T) {
	for _, mtu := range []units.Bytes{256, 512, units.KiB, 2 * units.KiB, 4 * units.KiB} {
		for _, n := range sizes {
			p := newPair(t)
			o := defaults()
			o.mtu = mtu
			a, b := p.connected(o)
			fill(a.mem[:n], 9)
			a.post(t, WorkRequest{ID: 1, Op: OpWrite, Signaled: true,
				SGList: []SGE{a.mr.SGE(0, n)}, RemoteAddr: b.mr.Addr + 64, RKey: b.mr.RKey})
			a.post(t, WorkRequest{ID: 2, Op: OpRead, Signaled: true, Fence: true,
				SGList: []SGE{a.mr.SGE(1<<15, min(n, 1<<15))}, RemoteAddr: b.mr.Addr + 64,
				RKey: b.mr.RKey})
			got := p.await(a, 2)
			require.Equal(t, WorkCompletion{ID: 1, Op: OpWrite, QPN: a.qp.Num}, got[0])
			require.Equal(t, WorkCompletion{ID: 2, Op: OpRead, QPN: a.qp.Num,
				ByteLen: uint32(min(n, 1<<15))}, got[1])
			require.True(t, bytes.Equal(a.mem[1<<15:1<<15+min(n, 1<<15)],
				b.mem[64:64+min(n, 1<<15)]), "mtu %d, %d bytes", mtu, n)
			p.conserved()
		}
	}
}

func TestWriteTouchesNothingElse(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	fill(a.mem, 1)
	before := bytes.Clone(b.mem)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 3001)},
		RemoteAddr: b.mr.Addr + 500, RKey: b.mr.RKey})
	p.await(a, 1)
	require.True(t, bytes.Equal(before[:500], b.mem[:500]) && bytes.Equal(before[3501:],
		b.mem[3501:]))
	require.True(t, bytes.Equal(a.mem[:3001], b.mem[500:3501]))
}

func TestImmediateInvalidateSolicited(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	extra, err := p.b.RegisterMemory(b.pd, make([]byte, 100),
		LocalWrite|RemoteWrite|RemoteInvalidate)
	require.NoError(t, err)
	for i := range 3 {
		b.recv(t, uint64(i), 4096*i, 4096)
	}
	a.post(t, WorkRequest{Op: OpSendImm, Imm: 0xcafe0001, SGList: []SGE{a.mr.SGE(0, 3000)}})
	a.post(t, WorkRequest{Op: OpWriteImm, Imm: 0xcafe0002, SGList: []SGE{a.mr.SGE(0, 3000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	a.post(t, WorkRequest{Op: OpSendInv, InvalidateKey: extra.RKey, Signaled: true, Solicited: true,
		SGList: []SGE{a.mr.SGE(0, 30)}})
	events := 0
	b.cq.OnEvent(func(*CompletionQueue) { events++ })
	b.cq.RequestNotify(true)
	require.Equal(t, []WorkCompletion{
		{ID: 0, Op: OpRecv, QPN: b.qp.Num, ByteLen: 3000, WithImm: true, Imm: 0xcafe0001},
		{ID: 1, Op: OpRecvWriteImm, QPN: b.qp.Num, ByteLen: 3000, WithImm: true,
			Imm: 0xcafe0002},
		{ID: 2, Op: OpRecv, QPN: b.qp.Num, ByteLen: 30, WithInv: true, Imm: extra.RKey,
			Solicited: true},
	}, p.await(b, 3))
	require.Equal(t, 1, events, "only the solicited one raises an event")
	require.False(t, extra.Valid())
	require.Len(t, p.await(a, 1), 1, "only the signalled one completes")
}

func TestAtomics(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	ne := binary.NativeEndian
	ne.PutUint64(b.mem[8:], 0x1122334455667788)
	a.post(t, WorkRequest{Op: OpFetchAdd, CompareAdd: 0x10, Signaled: true,
		SGList: []SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr + 8, RKey: b.mr.RKey})
	a.post(t, WorkRequest{Op: OpCmpSwap, CompareAdd: 0x1122334455667798, Swap: 5, Signaled: true,
		SGList: []SGE{a.mr.SGE(8, 8)}, RemoteAddr: b.mr.Addr + 8, RKey: b.mr.RKey})
	a.post(t, WorkRequest{Op: OpCmpSwap, CompareAdd: 1, Swap: 6, Signaled: true,
		SGList: []SGE{a.mr.SGE(16, 8)}, RemoteAddr: b.mr.Addr + 8, RKey: b.mr.RKey})
	for i, wc := range p.await(a, 3) {
		require.Equal(t, StatusSuccess, wc.Status)
		require.Equal(t, []Op{OpFetchAdd, OpCmpSwap, OpCmpSwap}[i], wc.Op)
	}
	require.EqualValues(t, 0x1122334455667788, ne.Uint64(a.mem))
	require.EqualValues(t, 0x1122334455667798, ne.Uint64(a.mem[8:]))
	require.EqualValues(t, 5, ne.Uint64(a.mem[16:]), "the second swap found what the first wrote")
	require.EqualValues(t, 5, ne.Uint64(b.mem[8:]))
}

func TestScatterGatherAndInline(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	fill(a.mem, 2)
	lists := func(s *side) []SGE {
		return []SGE{s.mr.SGE(0, 700), s.mr.SGE(2000, 1), s.mr.SGE(3000, 2000), s.mr.SGE(9000, 99)}
	}
	join := func(s *side) []byte {
		return bytes.Join([][]byte{s.mem[0:700], s.mem[2000:2001], s.mem[3000:5000],
			s.mem[9000:9099]}, nil)
	}
	require.NoError(t, b.qp.PostRecv(&RecvRequest{SGList: lists(b)}))
	a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: lists(a)})
	p.await(a, 1)
	require.Equal(t, join(a), join(b))

	fill(b.mem, 77)
	a.post(t, WorkRequest{Op: OpRead, Signaled: true, SGList: lists(a), RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	p.await(a, 1)
	require.Equal(t, b.mem[:2800], join(a))

	text := []byte("inline data needs no region")
	b.recv(t, 1, 0, 100)
	a.post(t, WorkRequest{Op: OpSend, Signaled: true, Inline: true, Data: text})
	clear(text[:3]) // the request was copied
	p.await(a, 1)
	require.Equal(t, "inline data needs no region", string(b.mem[:27]))
}

func TestPSNWrap(t *testing.T) {
	for _, start := range []wire.PSN{0xfffffe, 0xffffff, 0, 0x7ffffe} {
		p := newPair(t)
		o := defaults()
		o.psn = start
		a, b := p.connected(o)
		fill(a.mem, 4)
		b.recv(t, 0, 0, 5000)
		a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 5000)}})
		a.post(t, WorkRequest{Op: OpRead, Signaled: true, SGList: []SGE{a.mr.SGE(10000, 5000)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		p.await(a, 2)
		require.True(t, bytes.Equal(a.mem[:5000], a.mem[10000:15000]), "from %#x", uint32(start))
	}
}

func TestAcksAreCoalesced(t *testing.T) {
	p := newPair(t)
	o := defaults()
	a, b := p.connected(o)
	p.settle(units.Millisecond)
	for i := range 32 {
		b.recv(t, uint64(i), i*64, 64)
		a.post(t, WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 64)}})
	}
	p.await(b, 32)
	p.settle(units.Millisecond)
	require.EqualValues(t, 1, p.b.counters.AcksSent, "one ACK for a burst of 32")
	require.Zero(t, p.a.counters.Retransmitted)
}

// onAck is an algorithm whose decision changes with the first ACK.
type onAck struct{ before, after cc.Decision }

func (*onAck) Events() cc.EventSet {
	return cc.Events(cc.ACK, cc.RTT, cc.TIMER)
}
func (o *onAck) Start(units.Time) cc.Decision             { return o.before }
func (o *onAck) On(*cc.Event, units.Time) (d cc.Decision) { o.before = o.after; return o.after }

// When the window shrinks behind packets of which none asked for an ACK, one more packet asks.
func TestWindowCutDuringAMessage(t *testing.T) {
	p := newPair(t)
	p.la.room = 18 // so that the 16th packet asks, and two follow
	o := defaults()
	o.algorithm = &onAck{cc.Decision{Window: units.MiB}, cc.Decision{Window: 1024}}
	a, b := p.connected(o)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 40<<10)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	for len(a.poll()) == 0 && p.a.counters.Timeouts == 0 {
		p.now = p.now.Add(units.Microsecond)
		p.step()
	}
	require.Zero(t, p.a.counters.Timeouts)
}

// A Decision made at a TIMER is applied when it is due, even if nothing else happens to the flow.
func TestTimerDecisionResumesHeldFlow(t *testing.T) {
	p := newPair(t)
	o := defaults()
	until := units.Time(200 * units.Microsecond)
	o.algorithm = &onAck{cc.Decision{Hold: true, WakeAt: until}, cc.Decision{Window: units.MiB}}
	a, b := p.connected(o)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	p.await(a, 1)
	require.Equal(t, until.Add(2*units.Microsecond), p.now, "one round trip")
}

// A network that repeats a NAK does not use up the retries.
func TestCopiesOfANak(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.retries = 2
	a, b := p.connected(o)
	p.la.tamper = dropOnce(wire.RCWriteFirst, 0)
	p.lb.tamper = func(frame []byte) int {
		var parsed wire.Packet
		if parsed.Parse(frame) == nil && parsed.Op == wire.RCAck &&
			parsed.AETH().Syndrome.IsNak() {
			return 10
		}
		return 1
	}
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 5000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	require.LessOrEqual(t, p.a.counters.Retransmitted, uint64(5), "once, not for every copy")
}

// A port sends the class of ACKs first: an ACK that overtakes the response of an earlier READ would
// imply that the response was lost.
func TestAcksDoNotOvertakeResponses(t *testing.T) {
	p := newPair(t)
	p.lb.classes, p.lb.record = int(packet.Classes), true
	var err error
	p.b, err = New(Config{Port: p.lb, Addrs: prefixes("10.0.0.2/24"), Seed: 2}, 0)
	require.NoError(t, err)
	a, b := p.connected(defaults())
	write := WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}
	a.post(t, write)
	p.await(a, 1)
	a.post(t, WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 10000)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	a.post(t, write)
	p.await(a, 1)
	classes := map[wire.Opcode][]packet.Class{}
	for i, frame := range p.lb.sent {
		var parsed wire.Packet
		if parsed.Parse(frame) == nil {
			classes[parsed.Op] = append(classes[parsed.Op], p.lb.sentIn[i])
		}
	}
	require.Equal(t, []packet.Class{packet.ClassAck, packet.ClassData}, classes[wire.RCAck])
	require.Equal(t, []packet.Class{packet.ClassData}, classes[wire.RCReadResponseFirst])
}

// A NAK that ends the connection does not overtake the responses before it either: these are in
// another queue of the port.
func TestFinalNAKDoesNotOvertakeResponses(t *testing.T) {
	p := newPair(t)
	p.lb.classes, p.lb.record = int(packet.Classes), true
	var err error
	p.b, err = New(Config{Port: p.lb, Addrs: prefixes("10.0.0.2/24"), Seed: 2}, 0)
	require.NoError(t, err)
	o := defaults()
	o.memory = 1 << 18
	a, b := p.connected(o)
	a.post(t, WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 200000)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	require.True(t, p.run(units.Second, func() bool { return len(p.lb.sent) > 20 }))
	require.Positive(t, b.qp.rcv.reads.pending, "responses are still to be sent")
	b.mr.Deregister()
	for b.qp.State() != Errored {
		p.now = p.now.Add(100 * units.Nanosecond)
		p.b.Poll(p.now)
	}
	require.False(t, p.b.Loop().IsBusy(),
		"it left in the same poll: nothing would wake the endpoint again")
	require.Equal(t, StatusRemAccessErr, p.await(a, 1)[0].Status)
	naks := 0
	for i, frame := range p.lb.sent {
		var parsed wire.Packet
		if parsed.Parse(frame) == nil && parsed.Op == wire.RCAck &&
			parsed.AETH().Syndrome.IsNak() {
			naks++
			require.Equal(t, packet.ClassData, p.lb.sentIn[i])
		}
	}
	require.Equal(t, 1, naks)
}

// A copy of a READ request that arrives after the READ has completed and its memory was
// deregistered has no effect.
func TestLateCopyOfARead(t *testing.T) {
	bothWays(t, "late copy", func(t *testing.T, o sideOptions) {
		p := newPair(t)
		p.la.record = true
		a, b := p.connected(o)
		a.post(t, WorkRequest{Op: OpRead, Signaled: true, SGList: []SGE{a.mr.SGE(0, 3000)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		p.await(a, 1)
		b.mr.Deregister()
		for _, frame := range p.la.sent {
			var one [1]packet.Buf
			p.la.Alloc(one[:])
			one[0].SetLen(copy(one[0].Room(), frame))
			p.la.Send(packet.ClassData, one[:])
		}
		p.settle(units.Millisecond)
		require.Equal(t, ReadyToSend, b.qp.State())
		require.EqualValues(t, 1, p.b.counters.RepeatsRefused)
	})
}

// dropOnce drops the nth frame (from 0) that has the opcode.
func dropOnce(op wire.Opcode, n int) func([]byte) int {
	return func(frame []byte) int {
		var p wire.Packet
		if p.Parse(frame) == nil && p.Op == op {
			if n--; n == -1 {
				return 0
			}
		}
		return 1
	}
}

// bothWays runs a test with go-back-N and with selective repeat.
func bothWays(t *testing.T, name string, test func(*testing.T, sideOptions)) {
	t.Run(name, func(t *testing.T) { test(t, defaults()) })
	t.Run(name+", selective", func(t *testing.T) { test(t, selective()) })
}

func TestOneLossIsRepaired(t *testing.T) {
	for _, c := range []struct {
		name     string
		op       Op
		size     int
		drop     wire.Opcode
		nth      int
		fromPeer bool
		timeouts uint64
	}{
		{"first of a SEND", OpSend, 5000, wire.RCSendFirst, 0, false, 0},
		{"middle of a SEND", OpSend, 5000, wire.RCSendMiddle, 1, false, 0},
		{"last of a SEND: nothing is behind it", OpSend, 5000, wire.RCSendLast, 0, false, 1},
		{"only packet of a SEND", OpSend, 64, wire.RCSendOnly, 0, false, 1},
		{"middle of a WRITE", OpWrite, 5000, wire.RCWriteMiddle, 1, false, 0},
		{"the ACK", OpSend, 64, wire.RCAck, 0, true, 1},
		{"READ request", OpRead, 5000, wire.RCReadRequest, 0, false, 1},
		{"first READ response", OpRead, 5000, wire.RCReadResponseFirst, 0, true, 0},
		{"middle READ response", OpRead, 5000, wire.RCReadResponseMiddle, 1, true, 0},
		{"last READ response", OpRead, 5000, wire.RCReadResponseLast, 0, true, 1},
		{"atomic request", OpFetchAdd, 8, wire.RCFetchAdd, 0, false, 1},
		{"atomic result", OpFetchAdd, 8, wire.RCAtomicAck, 0, true, 1},
	} {
		bothWays(t, c.name, func(t *testing.T, o sideOptions) {
			p := newPair(t)
			a, b := p.connected(o)
			fill(a.mem[:6000], 1)
			fill(b.mem[10000:16000], 50)
			binary.NativeEndian.PutUint64(b.mem[40000:], 7)
			if c.fromPeer {
				p.lb.tamper = dropOnce(c.drop, c.nth)
			} else {
				p.la.tamper = dropOnce(c.drop, c.nth)
			}
			wr := WorkRequest{Op: c.op, Signaled: true, SGList: []SGE{a.mr.SGE(0, c.size)},
				RKey: b.mr.RKey, RemoteAddr: b.mr.Addr + 20000}
			switch c.op {
			case OpSend:
				b.recv(t, 0, 20000, c.size)
			case OpRead:
				wr.RemoteAddr = b.mr.Addr + 10000
			case OpFetchAdd:
				wr.RemoteAddr, wr.CompareAdd = b.mr.Addr+40000, 1
			}
			a.post(t, wr)
			wcs := p.await(a, 1)
			require.Equal(t, StatusSuccess, wcs[0].Status)
			switch c.op {
			case OpRead:
				require.True(t, bytes.Equal(a.mem[:c.size], b.mem[10000:10000+c.size]))
			case OpFetchAdd:
				require.EqualValues(t, 7, binary.NativeEndian.Uint64(a.mem))
				require.EqualValues(t, 8, binary.NativeEndian.Uint64(b.mem[40000:]),
					"executed once")
			default:
				require.True(t, bytes.Equal(a.mem[:c.size], b.mem[20000:20000+c.size]))
			}
			if c.op == OpSend {
				require.Len(t, p.await(b, 1), 1)
				p.settle(units.Millisecond)
				require.Empty(t, b.poll(), "delivered once")
			}
			require.Equal(t, c.timeouts, p.a.counters.Timeouts)
			require.Equal(t, ReadyToSend, a.qp.State())
			p.conserved()
		})
	}
}

func TestRNRBacksOffAndRecovers(t *testing.T) {
	for _, size := range []int{64, 3001} {
		p := newPair(t)
		a, b := p.connected(defaults())
		fill(a.mem[:size], 3)
		a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, size)}})
		p.settle(100 * units.Microsecond)
		require.GreaterOrEqual(t, p.a.counters.RNRNaks, uint64(1))
		sent := p.a.counters.RNRNaks
		require.LessOrEqual(t, sent, uint64(11), "one try each 10 µs")
		b.recv(t, 1, 0, size)
		require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
		require.True(t, bytes.Equal(a.mem[:size], b.mem[:size]))
	}
}

// A peer that is not ready is probed with one packet, however large the window: it would drop what
// comes behind.
func TestRNRProbesWithOnePacket(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	const size, messages = 1000, 20
	for i := range messages {
		a.post(t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true,
			SGList: []SGE{a.mr.SGE(i*size, size)}})
	}
	p.settle(units.Millisecond)
	c := p.a.counters
	require.GreaterOrEqual(t, c.RNRNaks, uint64(50))
	require.LessOrEqual(t, c.Retransmitted, c.RNRNaks)
	for i := range messages {
		b.recv(t, uint64(i), i*size, size)
	}
	for _, wc := range p.await(a, messages) {
		require.Equal(t, StatusSuccess, wc.Status)
	}
	require.LessOrEqual(t, p.a.counters.Retransmitted, p.a.counters.RNRNaks+messages)
}

func TestRNRRetriesEnd(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.rnr = 2
	a, _ := p.connected(o)
	a.post(t, WorkRequest{ID: 1, Op: OpSend, SGList: []SGE{a.mr.SGE(0, 8)}})
	a.post(t, WorkRequest{ID: 2, Op: OpSend, SGList: []SGE{a.mr.SGE(0, 8)}})
	got := p.await(a, 2)
	require.Equal(t, []Status{StatusRNRRetryExcErr, StatusWRFlushErr},
		[]Status{got[0].Status, got[1].Status})
	require.EqualValues(t, 3, p.b.counters.RNRSent, "the first try and two more")
	require.Equal(t, Errored, a.qp.State())
}

// The few RNR retries of a connection last longer toward a peer that stops polling at times: its
// program cannot post receive requests then.
func TestRNRRetriesLastAsLongAsThePeerIsAway(t *testing.T) {
	for _, c := range []struct {
		rnr   uint8
		away  units.Duration
		want  units.Duration // between NAKs
		slack units.Duration
	}{
		{rnr: 2, want: 10 * us, slack: 5 * us},
		{rnr: 2, away: 10 * units.Millisecond, want: 10*units.Millisecond + 10*us, slack: 50 * us},
		{rnr: rnrForever, away: 10 * units.Millisecond, want: 10 * us, slack: 5 * us},
	} {
		p := newPair(t)
		o := defaults()
		o.rnr = c.rnr
		a, b := p.connected(o)
		a.qp.cong.peerAway.onSample(c.away)
		a.post(t, WorkRequest{ID: 1, Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8)}})
		naks := func(n uint64) units.Time {
			for p.a.counters.RNRNaks < n {
				p.settle(us)
			}
			return p.now
		}
		first := naks(1)
		require.InDelta(t, float64(c.want), float64(naks(2).Sub(first)), float64(c.slack), "%+v", c)
		b.recv(t, 1, 0, 8)
		require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status, "%+v", c)
	}
}

func TestSilentPeerEndsInRetryExceeded(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.retries = 3
	a, b := p.connected(o)
	p.settle(units.Millisecond)
	p.la.tamper = func([]byte) int { return 0 }
	start := p.now
	a.post(t, WorkRequest{ID: 1, Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	got := p.await(a, 1)
	require.Equal(t, StatusRetryExcErr, got[0].Status)
	late := p.now.Sub(start) - 4*wire.AckTimeout(4)
	require.True(t, late >= 0 && late < 4*pace.Slot, "%v more than four times 4.096 µs · 2^4", late)
	ev, ok := p.a.PollAsync()
	require.True(t, ok)
	require.Equal(t, AsyncQPFatal, ev.Kind)
}

func TestRemoteErrors(t *testing.T) {
	type scene struct {
		name   string
		wr     func(a, b *side) WorkRequest
		setup  func(t *testing.T, p *pair, a, b *side)
		status Status
		count  func(c *Stats) uint64
		recv   Status // of the peer's receive; 0: none
	}
	write := func(addr uint64, rkey uint32, n int) func(a, b *side) WorkRequest {
		return func(a, b *side) WorkRequest {
			return WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, n)},
				RemoteAddr: b.mr.Addr + addr, RKey: b.mr.RKey + rkey}
		}
	}
	access := func(c *Stats) uint64 { return c.NakAccess }
	invalid := func(c *Stats) uint64 { return c.NakInvalid }
	for _, s := range []scene{
		{name: "WRITE, wrong rkey", wr: write(0, 1, 64), status: StatusRemAccessErr, count: access},
		{name: "WRITE, one byte past the end", wr: write(1<<16-63, 0, 64),
			status: StatusRemAccessErr, count: access},
		{name: "WRITE, several packets, past the end", wr: write(1<<16-4999, 0, 5000),
			status: StatusRemAccessErr, count: access},
		{name: "WRITE, address before the region", wr: write(^uint64(0), 0, 64),
			status: StatusRemAccessErr, count: access},
		{name: "WRITE without permission of the queue pair", wr: write(0, 0, 64),
			status: StatusRemInvReqErr, count: invalid,
			setup: func(_ *testing.T, _ *pair, _, b *side) { b.qp.access = RemoteRead }},
		{name: "WRITE without permission of the region", wr: write(0, 0, 64),
			status: StatusRemAccessErr, count: access,
			setup: func(_ *testing.T, _ *pair, _, b *side) {
				b.mr.access = LocalWrite | RemoteRead
			}},
		{name: "READ without permission", status: StatusRemAccessErr, count: access,
			wr: func(a, b *side) WorkRequest {
				return WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 64)},
					RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}
			},
			setup: func(_ *testing.T, _ *pair, _, b *side) { b.mr.access = LocalWrite }},
		{name: "region of another protection domain", status: StatusRemAccessErr, count: access,
			wr: write(0, 0, 64), setup: func(_ *testing.T, p *pair, _, b *side) {
				b.mr.pd = p.b.AllocPD()
			}},
		{name: "atomic, not aligned", status: StatusRemInvReqErr, count: invalid,
			wr: func(a, b *side) WorkRequest {
				return WorkRequest{Op: OpFetchAdd, SGList: []SGE{a.mr.SGE(0, 8)},
					RemoteAddr: b.mr.Addr + 4, RKey: b.mr.RKey}
			}},
		{name: "SEND longer than the receive", status: StatusRemInvReqErr, count: invalid,
			recv: StatusLocLenErr,
			wr: func(a, b *side) WorkRequest {
				return WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 3000)}}
			},
			setup: func(t *testing.T, _ *pair, _, b *side) { b.recv(t, 9, 0, 2999) }},
		{name: "receive into memory that is not ours", status: StatusRemOpErr,
			count: func(c *Stats) uint64 {
				return c.NakOperational
			}, recv: StatusLocProtErr,
			wr: func(a, b *side) WorkRequest {
				return WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 30)}}
			},
			setup: func(t *testing.T, _ *pair, _, b *side) {
				require.NoError(t,
					b.qp.PostRecv(&RecvRequest{ID: 9,
						SGList: []SGE{{Addr: b.mr.Addr, Length: 100, LKey: b.mr.LKey ^ 1<<20}}}))
			}},
		{name: "SEND with invalidate of a plain region", status: StatusRemAccessErr, count: access,
			recv: StatusLocProtErr,
			wr: func(a, b *side) WorkRequest {
				return WorkRequest{Op: OpSendInv, InvalidateKey: b.mr.RKey,
					SGList: []SGE{a.mr.SGE(0, 30)}}
			},
			setup: func(t *testing.T, _ *pair, _, b *side) { b.recv(t, 9, 30000, 100) }},
		{name: "more READs outstanding than the responder keeps", status: StatusRemInvReqErr,
			count: invalid,
			wr: func(a, b *side) WorkRequest {
				return WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 64)},
					RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}
			},
			setup: func(_ *testing.T, _ *pair, _, b *side) { b.qp.rcv.reads.size(0) }},
	} {
		t.Run(s.name, func(t *testing.T) {
			p := newPair(t)
			a, b := p.connected(defaults())
			fill(a.mem, 0xee)
			if s.setup != nil {
				s.setup(t, p, a, b)
			}
			before := bytes.Clone(b.mem)
			wr := s.wr(a, b)
			wr.ID = 1
			a.post(t, wr)
			a.post(t, WorkRequest{ID: 2, Op: OpSend, SGList: []SGE{a.mr.SGE(0, 8)}})
			got := p.await(a, 2)
			require.Equal(t, s.status, got[0].Status)
			require.Equal(t, StatusWRFlushErr, got[1].Status)
			require.Equal(t, Errored, a.qp.State())
			require.Equal(t, Errored, b.qp.State())
			require.EqualValues(t, 1, s.count(&p.b.counters))
			if s.recv == 0 {
				require.True(t, bytes.Equal(before, b.mem), "no byte was written")
			} else {
				require.Equal(t, s.recv, p.await(b, 1)[0].Status)
			}
			p.conserved()
		})
	}
}

func TestLocalErrors(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	b.recv(t, 0, 0, 100)
	a.post(t, WorkRequest{ID: 1, Op: OpSend, SGList: []SGE{a.mr.SGE(0, 100)}})
	a.post(t, WorkRequest{ID: 2, Op: OpSend,
		SGList: []SGE{{Addr: a.mr.Addr, Length: 10, LKey: a.mr.LKey + 1}}})
	a.post(t, WorkRequest{ID: 3, Op: OpSend, SGList: []SGE{a.mr.SGE(0, 100)}})
	var got []string
	for _, wc := range p.await(a, 3) {
		got = append(got, fmt.Sprintf("%d %v", wc.ID, wc.Status))
	}
	require.Equal(t, []string{"1 work request flushed", "2 local protection error",
		"3 work request flushed"}, got)
	require.NoError(t, a.qp.PostSend(&WorkRequest{ID: 4, Op: OpSend}))
	require.Equal(t, StatusWRFlushErr, p.await(a, 1)[0].Status,
		"what is posted in the error state is flushed")
}

// TestFaultsFromASeed sends a mix of all operations through a link that loses, repeats, reorders
// and corrupts, and checks every byte: with go-back-N, and with selective repeat of two sizes.
// Where a tenth of all frames is lost, one seed in some 10 000 has eight losses in a row, which no
// retry count survives.
func TestFaultsFromASeed(t *testing.T) {
	seed := testSeed(t)
	rounds := 150
	if race.Short() {
		rounds = 30
	}
	for round := range rounds {
		seed := seed + uint64(round)
		for _, sack := range []uint16{0, 32, 512} {
			if !mixedTraffic(t, seed, sack) {
				t.Fatalf("replay with -seed=%d, SACK of %d bits", seed, sack)
			}
		}
		if *seedFlag != 0 {
			return
		}
	}
}

func mixedTraffic(t *testing.T, seed uint64, sack uint16) (ok bool) {
	defer func() { ok = !t.Failed() }()
	rng := rand.New(rand.NewPCG(seed, 1))
	p := newPair(t)
	o := defaults()
	o.mtu = []units.Bytes{256, units.KiB, 4 * units.KiB}[rng.IntN(3)]
	o.psn = wire.PSN(rng.Uint32() & wire.PSNMask)
	o.reads = 1 + rng.IntN(8)
	o.memory = 1 << 20
	o.timeout, o.retries, o.sack = 4, 7, sack
	window := units.Bytes(1) << rng.IntN(21)
	o.algorithm = &cc.Fixed{Window: window}
	if rng.IntN(2) == 0 {
		o.rtoLow, o.rtoHigh = 20*units.Microsecond, 100*units.Microsecond
		o.maxInFlight = units.Bytes(1) << rng.IntN(21)
	}
	a, b := p.connected(o)
	rate := rng.Float64() * 0.06
	if rng.IntN(2) == 0 {
		overtake := func() bool { return rng.Float64() < rate }
		p.la.swap, p.lb.swap = overtake, overtake
	}
	if rng.IntN(3) == 0 {
		late := func([]byte) units.Duration {
			if rng.Float64() > rate {
				return 0
			}
			return units.Duration(rng.IntN(20)) * units.Microsecond
		}
		p.la.late, p.lb.late = late, late
	}
	spoil := func(frame []byte) int {
		switch x := rng.Float64(); {
		case x < rate:
			return 0
		case x < 1.5*rate:
			return 2
		case x < 2*rate:
			frame[14+rng.IntN(len(frame)-14)] ^= 1 << rng.IntN(8)
		}
		return 1
	}
	p.settle(units.Millisecond) // ARP repeats more slowly
	p.la.tamper, p.lb.tamper = spoil, spoil
	ne := binary.NativeEndian
	rng.Uint64()
	for i := range a.mem {
		a.mem[i], b.mem[i] = byte(rng.Uint32()), byte(rng.Uint32())
	}
	const area = 1 << 14 // for each operation, so that they do not overlap
	n := 1 + rng.IntN(24)
	type check func() bool
	var checks []check
	recvs := 0
	var late []RecvRequest // posted only after their message has arrived, or not yet
	lazy := rng.IntN(3) == 0
	recv := func(id uint64, off, size int) {
		recvs++
		if !lazy {
			b.recv(t, id, off, size)
			return
		}
		late = append(late, RecvRequest{ID: id, SGList: []SGE{b.mr.SGE(off, size)}})
	}
	counter := ne.Uint64(b.mem[1<<20-8:])
	adds := uint64(0)
	for i := range n {
		off, size := i*area, rng.IntN(area)
		wr := WorkRequest{ID: uint64(i), Op: Op(rng.IntN(int(OpFetchAdd) + 1)), Signaled: true,
			SGList:     []SGE{a.mr.SGE(off, size)},
			RemoteAddr: b.mr.Addr + uint64(off), RKey: b.mr.RKey, Imm: uint32(i)}
		if rng.IntN(4) == 0 {
			wr.Fence = true
		}
		same := func() bool { return bytes.Equal(a.mem[off:off+size], b.mem[off:off+size]) }
		switch wr.Op {
		case OpSendInv, OpCmpSwap, OpSend:
			wr.Op = OpSend
			recv(uint64(i), off, size)
		case OpSendImm:
			recv(uint64(i), off, size)
		case OpWriteImm:
			recv(uint64(i), 0, 0)
		case OpFetchAdd:
			wr.SGList = []SGE{a.mr.SGE(off, 8)}
			wr.RemoteAddr, wr.CompareAdd = b.mr.Addr+1<<20-8, 1
			want := counter + adds
			adds++
			same = func() bool { return ne.Uint64(a.mem[off:]) == want }
		}
		a.post(t, wr)
		checks = append(checks, same)
		if rng.IntN(3) == 0 {
			p.step()
		}
	}
	back := rng.IntN(8) // operations in the other direction
	for i := range back {
		off, size := (32+i)*area, rng.IntN(area)
		b.post(t, WorkRequest{Op: []Op{OpWrite, OpRead}[rng.IntN(2)], Signaled: true,
			SGList:     []SGE{b.mr.SGE(off, size)},
			RemoteAddr: a.mr.Addr + uint64(off), RKey: a.mr.RKey})
		checks = append(checks, func() bool {
			return bytes.Equal(a.mem[off:off+size], b.mem[off:off+size])
		})
	}
	for len(late) > 0 {
		p.settle(units.Duration(rng.IntN(100)) * units.Microsecond)
		require.NoError(t, b.qp.PostRecv(&late[0]))
		late = late[1:]
	}
	got := p.await(a, n)
	for i, wc := range got {
		if wc.ID != uint64(i) || wc.Status != StatusSuccess {
			t.Errorf("completion %d: %+v", i, wc)
		}
	}
	if len(got) == n && !t.Failed() {
		p.await(b, recvs+back)
		p.la.tamper, p.lb.tamper = nil, nil
		p.settle(10 * units.Millisecond)
		if extra := append(a.poll(), b.poll()...); len(extra) > 0 {
			t.Errorf("completed twice: %+v", extra)
		}
		for _, s := range []*side{a, b} {
			if s.qp.loss.inFlight != 0 || s.qp.loss.recovery != nil || s.ep.held != 0 {
				t.Errorf("at the end %d bytes in flight, %d packets held, %+v",
					int64(s.qp.loss.inFlight),
					s.ep.held, s.qp.loss.recovery)
			}
		}
		for i, same := range checks {
			if !same() {
				t.Errorf("operation %d: wrong bytes", i)
			}
		}
		if ne.Uint64(b.mem[1<<20-8:]) != counter+adds {
			t.Errorf("the counter is %d, want %d", ne.Uint64(b.mem[1<<20-8:]), counter+adds)
		}
	}
	p.conserved()
	return
}
