package transport

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// selective is a queue pair on each end that agreed to SACKs of 512 bits. Its first PSN is 100, a
// round trip takes 2 µs, a timeout 65 µs.
func selective() sideOptions {
	o := defaults()
	o.sack = 512
	return o
}

// parsed parses a frame, which may not be RoCEv2 at all.
func parsed(frame []byte) (p wire.Packet, ok bool) {
	return p, p.Parse(frame) == nil
}

// losing drops the packets with these PSNs, each as often as it is listed.
func losing(psns ...wire.PSN) func([]byte) int {
	left := map[wire.PSN]int{}
	for _, psn := range psns {
		left[psn]++
	}
	return func(frame []byte) int {
		if p, ok := parsed(frame); ok && left[p.PSN] > 0 {
			left[p.PSN]--
			return 0
		}
		return 1
	}
}

// opcodes counts the opcodes that a link has sent.
func (l *link) opcodes() map[wire.Opcode]int {
	n := map[wire.Opcode]int{}
	for _, frame := range l.sent {
		if p, ok := parsed(frame); ok {
			n[p.Op]++
		}
	}
	return n
}

// TestOnlyLostPacketsAreRetransmitted moves 20 packets, with PSNs 100 to 119, and loses some.
func TestOnlyLostPacketsAreRetransmitted(t *testing.T) {
	for _, c := range []struct {
		name     string
		op       Op
		sizes    []int      // of the messages
		lost     []wire.PSN // of the requester's packets
		answers  []wire.PSN // of the responder's
		again    int        // packets that the requester retransmits
		timeouts int
	}{
		{"nothing", OpSend, []int{20480}, nil, nil, 0, 0},
		{"one", OpSend, []int{20480}, []wire.PSN{107}, nil, 1, 0},
		{"the first", OpWrite, []int{20480}, []wire.PSN{100}, nil, 1, 0},
		{"two", OpWrite, []int{20480}, []wire.PSN{103, 111}, nil, 2, 0},
		{"every other one", OpSend, []int{20480}, []wire.PSN{101, 103, 105, 107, 109, 111, 113, 115,
			117}, nil, 9, 0},
		{"a burst", OpSend, []int{20480}, []wire.PSN{105, 106, 107, 108, 109}, nil, 5, 0},
		{"all except the last", OpWrite, []int{3072}, []wire.PSN{100, 101}, nil, 2, 0},
		{"one of many messages", OpSend, []int{1024, 1024, 100, 1024, 5000, 0, 7}, []wire.PSN{102},
			nil, 1, 0},
		{"the last of a message in the middle", OpSend, []int{5000, 5000, 5000}, []wire.PSN{109},
			nil, 1, 0},
		{"the very last: a timeout detects it", OpSend, []int{20480}, []wire.PSN{119}, nil, 1, 1},
		{"the last four: one timeout for all", OpSend, []int{20480}, []wire.PSN{116, 117, 118, 119},
			nil, 4, 1},
		{"the same one twice: a timeout detects it", OpWrite, []int{20480}, []wire.PSN{107, 107},
			nil, 2,
			1},
		{"an ACK: only the oldest is sent again", OpSend, []int{1024, 1024, 1024, 1024}, nil,
			[]wire.PSN{103}, 1, 1},
		{"a READ's request", OpRead, []int{20480}, []wire.PSN{100}, nil, 1, 1},
		{"a READ's request among others", OpRead, []int{5000, 5000, 5000}, []wire.PSN{105}, nil, 1,
			0},
		{"a response", OpRead, []int{20480}, nil, []wire.PSN{107}, 1, 0},
		{"three responses, two of them in a row", OpRead, []int{20480}, nil,
			[]wire.PSN{103, 110, 111}, 2, 0},
		{"responses of two READs", OpRead, []int{5000, 5000, 5000}, nil,
			[]wire.PSN{102, 104, 105, 106}, 3, 0},
		{"the last response: a timeout detects it", OpRead, []int{20480}, nil, []wire.PSN{119}, 1,
			1},
		{"an atomic's request", OpFetchAdd, []int{8, 8, 8}, []wire.PSN{101}, nil, 1, 0},
		{"an atomic's result", OpFetchAdd, []int{8, 8, 8}, nil, []wire.PSN{101}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			a, b := p.connected(selective())
			p.settle(units.Millisecond)
			p.la.tamper, p.lb.tamper = losing(c.lost...), losing(c.answers...)
			p.lb.record = true
			from, to := a, b
			if c.op == OpRead {
				from, to = b, a
			}
			fill(from.mem[:30000], 3)
			at, sum := 0, uint64(0)
			for i, n := range c.sizes {
				wr := WorkRequest{ID: uint64(i), Op: c.op, Signaled: true,
					SGList: []SGE{a.mr.SGE(at, n)}, RemoteAddr: b.mr.Addr + uint64(at),
					RKey: b.mr.RKey}
				switch c.op {
				case OpSend:
					b.recv(t, uint64(i), at, n)
				case OpFetchAdd:
					wr.RemoteAddr, wr.CompareAdd = b.mr.Addr+1<<15, uint64(1)<<i
					sum += wr.CompareAdd
				}
				a.post(t, wr)
				at += n
			}
			start := p.now
			for i, wc := range p.await(a, len(c.sizes)) {
				require.EqualValues(t, i, wc.ID)
				require.Equal(t, StatusSuccess, wc.Status)
			}
			if c.timeouts == 0 {
				require.LessOrEqual(t, p.now.Sub(start), 5*units.Microsecond,
					"little more than two round trips")
			}
			p.settle(units.Millisecond)
			if c.op == OpFetchAdd {
				require.Equal(t, sum, binary.NativeEndian.Uint64(b.mem[1<<15:]),
					"each executed once")
			} else {
				require.True(t, bytes.Equal(from.mem[:at], to.mem[:at]))
			}
			if c.op == OpSend {
				require.Len(t, b.poll(), len(c.sizes))
			}
			k := p.a.counters
			require.EqualValues(t, c.again, k.Retransmitted, "%+v", k)
			require.EqualValues(t, c.timeouts, k.Timeouts, "%+v", k)
			require.Zero(t, k.SequenceNaks)
			if c.op == OpRead {
				responses := 0
				for op, n := range p.lb.opcodes() {
					if op.Info().Kind == wire.ReadResponse {
						responses += n
					}
				}
				packets := 0
				for _, n := range c.sizes {
					packets += (n + 1023) / 1024
				}
				require.Equal(t, packets+len(c.answers), responses,
					"no response is sent twice in vain")
			}
			require.Nil(t, a.qp.loss.recovery)
			p.conserved()
		})
	}
}

// A retransmission that is lost is detected without a timeout when something new follows, with a
// reordering window after it.
func TestLostRetransmissionIsOvertaken(t *testing.T) {
	for _, window := range []units.Duration{0, 10 * units.Microsecond} {
		t.Run(window.String(), func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.memory, o.maxInFlight = 1<<20, 20*units.KiB
			o.reordering, o.timeout = window, 20
			a, b := p.connected(o)
			p.settle(units.Millisecond)
			p.la.tamper = losing(107, 107, 107, 200, 200)
			fill(a.mem, 5)
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true,
				SGList: []SGE{a.mr.SGE(0, 1<<20)}, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
			p.await(a, 1)
			require.True(t, bytes.Equal(a.mem, b.mem))
			require.Zero(t, p.a.counters.Timeouts)
			require.EqualValues(t, 5, p.a.counters.Retransmitted)
			p.conserved()
		})
	}
}

// A retransmission that is lost more often than retry_cnt ends the connection.
func TestRetriesEndWithoutTimeouts(t *testing.T) {
	p := newPair(t)
	o := selective()
	o.memory, o.retries, o.timeout = 1<<20, 3, 20
	o.maxInFlight = 20 * units.KiB
	a, b := p.connected(o)
	p.settle(units.Millisecond)
	p.la.tamper = func(frame []byte) int {
		if q, ok := parsed(frame); ok && q.PSN == 107 {
			return 0
		}
		return 1
	}
	a.post(t, WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 1<<20)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	require.Equal(t, StatusRetryExcErr, p.await(a, 1)[0].Status)
	require.EqualValues(t, 1, p.a.counters.RetriesExceeded)
	require.EqualValues(t, 4, p.a.counters.Retransmitted, "the first try and three retries")
	p.conserved()
}

// TestXACKReportsArrivedPackets loses two of eight packets and checks the one answer to the rest.
func TestXACKReportsArrivedPackets(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(selective())
	p.settle(units.Millisecond)
	p.la.tamper = losing(102, 104)
	p.lb.record = true
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8192)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	p.await(a, 1)
	require.Equal(t, map[wire.Opcode]int{wire.XACK: 1, wire.RCAck: 1}, p.lb.opcodes())
	x, _ := parsed(p.lb.sent[0])
	require.True(t, x.ICRC())
	require.Equal(t, a.tag(), x.XCH().Tag.Get())
	require.Equal(t, wire.PSN(101), x.PSN, "as an ACK")
	require.Equal(t, wire.SyndromeAck, x.AETH().Syndrome)
	require.Equal(t, 32, extension.TLVs(x.TLVs()).SACK().Len())
	require.Equal(t, uint32(0b11101), extension.TLVs(x.TLVs()).SACK().Bits(0),
		"103, 105, 106 and 107")
	require.EqualValues(t, 4, p.b.counters.Held)
	require.EqualValues(t, 1, p.b.counters.SelectiveAcksSent)
	require.EqualValues(t, 1, p.a.counters.SelectiveAcks)
}

// A held READ request covers all the PSNs of its response.
func TestHeldReadRequest(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(selective())
	p.settle(units.Millisecond)
	p.la.tamper = losing(100)
	p.lb.record = true
	fill(b.mem, 5)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 64)},
		RemoteAddr: b.mr.Addr + 1<<15, RKey: b.mr.RKey})
	a.post(t, WorkRequest{Op: OpRead, Signaled: true, SGList: []SGE{a.mr.SGE(1<<15, 5000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 64)},
		RemoteAddr: b.mr.Addr + 1<<15, RKey: b.mr.RKey})
	p.await(a, 3)
	x, _ := parsed(p.lb.sent[0])
	require.Equal(t, wire.XACK, x.Op)
	require.Equal(t, uint32(0b111111), extension.TLVs(x.TLVs()).SACK().Bits(0),
		"101 to 105 for the READ, 106 for the WRITE")
	require.EqualValues(t, 1, p.a.counters.Retransmitted)
	require.True(t, bytes.Equal(b.mem[:5000], a.mem[1<<15:1<<15+5000]))
}

// A packet that others overtake is retransmitted once, though not lost; packets that have arrived
// never are.
func TestReordering(t *testing.T) {
	for _, op := range []Op{OpWrite, OpRead} {
		p := newPair(t)
		a, b := p.connected(selective())
		p.settle(units.Millisecond)
		lose := losing(105, 109)
		late := func(frame []byte) units.Duration {
			return units.Duration(1-lose(frame)) * 3 * units.Microsecond
		}
		if op == OpRead {
			p.lb.late = late
		} else {
			p.la.late = late
		}
		fill(a.mem[:20480], 1)
		fill(b.mem[20480:40960], 2)
		wr := WorkRequest{Op: op, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20480)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}
		if op == OpRead {
			wr.RemoteAddr += 20480
		}
		a.post(t, wr)
		p.await(a, 1)
		require.True(t, bytes.Equal(a.mem[:20480], b.mem[wr.RemoteAddr-b.mr.Addr:][:20480]),
			op.String())
		p.settle(units.Millisecond)
		require.EqualValues(t, 2, p.a.counters.Retransmitted, op.String())
		require.Zero(t, p.a.counters.Timeouts)
		p.conserved()
	}
}

// Frames that are swapped within a burst cause no retransmission, nor do duplicates.
func TestReorderingWithinABurstAndDuplicates(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(selective())
	p.settle(units.Millisecond)
	n := 0
	p.la.swap = func() bool { n++; return n%3 == 0 }
	p.la.tamper = func([]byte) int { return 2 }
	p.lb.tamper = p.la.tamper
	fill(a.mem, 1)
	for i := range 8 {
		b.recv(t, uint64(i), 0, 5000)
		a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 5000)}})
	}
	p.await(a, 8)
	require.Len(t, b.poll(), 8)
	require.True(t, bytes.Equal(a.mem[:5000], b.mem[:5000]))
	require.Zero(t, p.a.counters.Retransmitted)
	p.conserved()
}

func TestLostXACKs(t *testing.T) {
	for lost := range 4 {
		p := newPair(t)
		o := selective()
		o.memory, o.maxInFlight = 1<<20, 20*units.KiB
		a, b := p.connected(o)
		p.settle(units.Millisecond)
		p.la.tamper = losing(120, 130)
		left := lost
		p.lb.tamper = func(frame []byte) int {
			if q, ok := parsed(frame); ok && q.Op == wire.XACK && left > 0 {
				left--
				return 0
			}
			return 1
		}
		fill(a.mem, 1)
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 1<<17)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		p.await(a, 1)
		require.True(t, bytes.Equal(a.mem[:1<<17], b.mem[:1<<17]))
		require.LessOrEqual(t, p.a.counters.Retransmitted, uint64(4), "%d lost", lost)
		p.conserved()
	}
}

// A receiver that is not ready keeps what arrives behind the refused packet: each retry costs that
// packet alone.
func TestRNRInTheMiddle(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(selective())
	p.settle(units.Millisecond)
	fill(a.mem, 1)
	b.recv(t, 0, 0, 5000)
	for i := range 3 {
		a.post(t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true,
			SGList: []SGE{a.mr.SGE(5000*i, 5000)}})
	}
	p.la.tamper = losing(102, 112) // of the first message, and of the third
	p.settle(35 * units.Microsecond)
	require.Len(t, a.poll(), 1, "a message completes when it was executed, not when it arrived")
	require.GreaterOrEqual(t, p.b.counters.RNRSent, uint64(2))
	require.Zero(t, p.a.counters.Timeouts)
	b.recv(t, 1, 5000, 5000)
	b.recv(t, 2, 10000, 5000)
	p.await(a, 3)
	require.Len(t, b.poll(), 3)
	require.True(t, bytes.Equal(a.mem[:15000], b.mem[:15000]))
	require.Equal(t, p.a.counters.RNRNaks+2, p.a.counters.Retransmitted, "%+v", p.a.counters)
	p.conserved()
}

// A message that was held behind a gap may be refused when its turn comes.
func TestRefusedAfterItWasHeld(t *testing.T) {
	for _, c := range []struct {
		name   string
		second func(a, b *side) WorkRequest
		want   Status
	}{
		{"no receive", func(a, _ *side) WorkRequest {
			return WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 64)}}
		}, StatusRNRRetryExcErr},
		{"unknown key", func(a, b *side) WorkRequest {
			return WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 3000)}, RemoteAddr: b.mr.Addr,
				RKey: b.mr.RKey + 1}
		}, StatusRemAccessErr},
		{"READ past the end", func(a, b *side) WorkRequest {
			return WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 3000)},
				RemoteAddr: b.mr.Addr + 1<<16 - 100, RKey: b.mr.RKey}
		}, StatusRemAccessErr},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.rnr = 0
			a, b := p.connected(o)
			p.settle(units.Millisecond)
			fill(a.mem, 1)
			fill(b.mem, 9)
			before := bytes.Clone(b.mem)
			p.la.tamper = losing(101)
			a.post(t, WorkRequest{ID: 1, Op: OpWrite, Signaled: true,
				SGList: []SGE{a.mr.SGE(0, 3000)}, RemoteAddr: b.mr.Addr + 1<<15, RKey: b.mr.RKey})
			second := c.second(a, b)
			second.ID = 2
			a.post(t, second)
			a.post(t, WorkRequest{ID: 3, Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 3000)},
				RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
			got := p.await(a, 3)
			require.Equal(t, []Status{StatusSuccess, c.want, StatusWRFlushErr},
				[]Status{got[0].Status, got[1].Status, got[2].Status})
			copy(before[1<<15:], a.mem[:3000])
			require.True(t, bytes.Equal(before, b.mem),
				"nothing behind the refused request is executed")
			p.conserved()
		})
	}
}

// Whatever ends a queue pair with an open gap gives the held buffers back.
func TestHeldBuffersAreFreed(t *testing.T) {
	for name, end := range map[string]func(*Endpoint, *side){
		"reset":   func(_ *Endpoint, s *side) { s.qp.Modify(Reset, QPAttr{}) },
		"error":   func(_ *Endpoint, s *side) { s.qp.Modify(Errored, QPAttr{}) },
		"destroy": func(_ *Endpoint, s *side) { s.qp.Destroy() },
		"close":   func(*Endpoint, *side) {},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.memory = 1 << 17
			a, b := p.connected(o)
			p.settle(units.Millisecond)
			p.la.tamper = func(frame []byte) int {
				if q, ok := parsed(frame); ok && q.PSN == 102 {
					return 0
				}
				return 1
			}
			a.post(t, WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 1<<17)},
				RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
			p.settle(10 * units.Microsecond)
			require.Equal(t, 125, p.b.held)
			end(p.b, b)
			p.conserved()
			require.Zero(t, p.b.held)
			require.EqualValues(t, 125, p.b.counters.Held)
		})
	}
}

// Beyond its limit an endpoint drops packets behind gaps, and sends a NAK like any other.
func TestHeldBuffersAreLimited(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(selective())
	a2, b2 := p.connected(selective())
	p.settle(units.Millisecond)
	p.b.maxHeld = 4
	p.la.tamper = losing(101, 101, 108, 109)
	fill(a.mem, 1)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	a2.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20000)},
		RemoteAddr: b2.mr.Addr, RKey: b2.mr.RKey})
	a2.qp.snd.q.pd = a.pd
	most := 0
	require.True(t, p.run(units.Second, func() bool {
		most = max(most, p.b.held)
		return len(a.poll()) == 1 && len(a2.poll()) == 1
	}), "%+v %+v", p.a.counters, p.b.counters)
	require.Equal(t, 4, most)
	require.True(t, bytes.Equal(a.mem[:20000], b.mem[:20000]) && bytes.Equal(a.mem[:20000],
		b2.mem[:20000]))
	require.NotZero(t, p.b.counters.DropAhead)
	require.NotZero(t, p.b.counters.HeldDropped, "the second queue pair got its share")
	p.conserved()
}

// No packet leaves that the peer's SACK could not report.
func TestNoMoreOutstandingThanASACKHasBits(t *testing.T) {
	for _, op := range []Op{OpWrite, OpRead} {
		p := newPair(t)
		o := selective()
		o.sack = 32
		a, b := p.connected(o)
		p.settle(units.Millisecond)
		p.la.tamper = losing(110)
		p.lb.tamper = losing(150)
		for range 8 {
			a.post(t, WorkRequest{Op: op, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20000)},
				RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		}
		require.True(t, p.run(units.Second, func() bool {
			require.LessOrEqual(t, a.qp.snd.sndNxt.Sub(a.qp.loss.una), int32(32+20),
				"a READ that begins within the window may end beyond it")
			if op == OpWrite {
				require.LessOrEqual(t, a.qp.snd.sndNxt.Sub(a.qp.loss.una), int32(32))
			}
			return len(a.poll()) == 8
		}))
		require.Zero(t, p.b.counters.DropAhead)
		p.conserved()
	}
}

// TestPlainRoCEv2WithoutAgreement checks every frame of lossy traffic between endpoints that agreed
// to nothing.
func TestPlainRoCEv2WithoutAgreement(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	p.la.record, p.lb.record = true, true
	p.la.tamper, p.lb.tamper = losing(103, 111, 120), losing(131, 122)
	for _, op := range []Op{OpWrite, OpRead, OpSend} {
		b.recv(t, 0, 0, 20000)
		a.post(t, WorkRequest{Op: op, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20000)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	}
	p.await(a, 3)
	require.NotZero(t, p.a.counters.SequenceNaks)
	for _, l := range []*link{p.la, p.lb} {
		for _, frame := range l.sent {
			q, ok := parsed(frame)
			require.True(t, !ok || q.Op < wire.Manufacturer, "%v", q.Op)
		}
	}
}

// Packets of the extension from a peer that did not agree to it, of another connection, or about
// packets never sent, have no effect.
func TestForgedExtension(t *testing.T) {
	type forged struct {
		name  string
		sack  uint16
		op    wire.Opcode
		psn   wire.PSN
		tag   uint16 // added to the right one
		bits  uint32
		count func(*Stats) uint64
	}
	for _, c := range []forged{
		{"XACK, nothing agreed", 0, wire.XACK, 99, 0, 1, func(c *Stats) uint64 {
			return c.DropUnnegotiated
		}},
		{"XDATA, nothing agreed", 0, wire.XDATA, 100, 0, 1, func(c *Stats) uint64 {
			return c.DropUnnegotiated
		}},
		{"XDATA, SACK agreed", 512, wire.XDATA, 100, 0, 1, func(c *Stats) uint64 {
			return c.DropUnnegotiated
		}},
		{"another connection's tag", 512, wire.XACK, 99, 1, 1, func(c *Stats) uint64 {
			return c.DropTag
		}},
		{"SACK of packets never sent", 512, wire.XACK, 100, 0, 1 << 4, func(c *Stats) uint64 {
			return c.DropSACK
		}},
		{"empty SACK", 512, wire.XACK, 100, 0, 0, func(c *Stats) uint64 {
			return c.DropSACK
		}},
		{"ACK of packets never sent", 512, wire.XACK, 105, 0, 1, func(c *Stats) uint64 {
			return c.DropGhostAck
		}},
		{"older than the newest ACK", 512, wire.XACK, 98, 0, 1, func(c *Stats) uint64 {
			return c.DropStaleAck
		}},
		{"a valid one", 512, wire.XACK, 99, 0, 1 << 1, func(c *Stats) uint64 {
			return c.SelectiveAcks
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.sack, o.timeout = c.sack, 20
			a, b := p.connected(o)
			p.settle(units.Millisecond)
			// b's packets do not arrive: 100 to 104 are outstanding
			p.lb.tamper = func([]byte) int { return 0 }
			b.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{b.mr.SGE(0, 5000)},
				RemoteAddr: a.mr.Addr, RKey: a.mr.RKey})
			p.settle(10 * units.Microsecond)
			f := newForger(p, b)
			tlvs := extension.SACKLen(32)
			was := p.b.counters
			f.send(wire.Fields{Op: c.op, PSN: c.psn}, tlvs, func(ext []byte) {
				n := tlvs
				if c.op == wire.XDATA {
					n = 0
				}
				wire.View[wire.XCH](ext).Set(b.tag()+c.tag, n)
				wire.View[wire.AETH](ext[4:]).Set(wire.SyndromeAck, 0)
				if c.op == wire.XDATA {
					wire.SetInner(ext[4:], wire.RCSendMiddle)
				}
				s := extension.SACK(ext[8:])
				s.Init(32)
				s.SetBits(0, c.bits)
			}, nil)
			p.settle(10 * units.Microsecond)
			require.EqualValues(t, 1, c.count(&p.b.counters)-c.count(&was), "%+v", p.b.counters)
			require.Equal(t, ReadyToSend, b.qp.State())
			require.Empty(t, b.poll())
			if c.name == "a valid one" {
				require.EqualValues(t, 2, p.b.counters.Retransmitted-was.Retransmitted,
					"100 and 101; 102 has arrived")
			} else {
				require.Equal(t, was.Retransmitted, p.b.counters.Retransmitted)
				require.Nil(t, b.qp.loss.recovery)
			}
			p.conserved()
		})
	}
}

// eventCounter counts the events that congestion control gets.
type eventCounter struct {
	script
	counts map[cc.Kind]int
}

func (h *eventCounter) On(ev *cc.Event, now units.Time) cc.Decision {
	h.counts[ev.Kind]++
	return h.script.On(ev, now)
}

// A loss is reported to congestion control once for a window, every byte once, and no delay of a
// retransmission.
func TestLossIsReportedOnceInAWindow(t *testing.T) {
	for _, op := range []Op{OpWrite, OpRead} {
		p := newPair(t)
		o := selective()
		h := &eventCounter{counts: map[cc.Kind]int{},
			script: script{decision: cc.Decision{Window: 20 * units.KiB}}}
		o.algorithm, o.memory = h, 1<<18
		a, b := p.connected(o)
		p.settle(units.Millisecond)
		lossy := p.la
		if op == OpRead {
			lossy = p.lb
		}
		lossy.tamper = losing(100, 103, 104, 110, 200, 205)
		a.post(t, WorkRequest{Op: op, Signaled: true, SGList: []SGE{a.mr.SGE(0, 1<<18)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		p.await(a, 1)
		require.EqualValues(t, 1<<18, h.acked, op.String())
		require.Equal(t, 2, h.counts[cc.OOO], "two bursts of losses")
		require.Zero(t, h.counts[cc.RTO])
		require.LessOrEqual(t, h.inFlight, 20*units.KiB)
		require.Positive(t, h.counts[cc.RTT])
		require.LessOrEqual(t, h.delay, 2*units.Microsecond)
	}
}

// With few packets outstanding the timeout is shorter than with many.
func TestTwoTimeouts(t *testing.T) {
	for _, c := range []struct {
		packets int
		want    units.Duration
	}{{1, 50 * units.Microsecond}, {2, 50 * units.Microsecond}, {3, 300 * units.Microsecond},
		{30, 300 * units.Microsecond}} {
		p := newPair(t)
		o := selective()
		o.rtoLow, o.rtoHigh = 50*units.Microsecond, 300*units.Microsecond
		a, b := p.connected(o)
		p.settle(units.Millisecond)
		p.la.tamper = func([]byte) int { return 0 }
		start := p.now
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, c.packets*1024)}, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		require.True(t, p.run(units.Second, func() bool { return p.a.counters.Timeouts == 1 }))
		late := p.now.Sub(start) - c.want
		require.True(t, late >= 0 && late < pace.Slot, "%d packets: %v late", c.packets, late)
		require.EqualValues(t, 1, p.a.counters.Retransmitted, "only the oldest")
		p.la.tamper = nil
		p.await(a, 1)
		p.conserved()
	}
}

// lossyPort loses every nth data frame it sends.
type lossyPort struct {
	*crossing
	n, every int
}

func (l *lossyPort) Send(class packet.Class, bufs []packet.Buf) int {
	for i := range bufs {
		if l.n++; l.n%l.every == 0 && bufs[i].Len() > 200 {
			l.crossing.Free(bufs[i : i+1])
		} else {
			l.crossing.Send(class, bufs[i:i+1])
		}
	}
	return len(bufs)
}

func TestNothingIsAllocatedInRecovery(t *testing.T) {
	for _, op := range []Op{OpSend, OpWrite, OpRead} {
		o := selective()
		o.mtu, o.timeout = 256, 1
		la, lb := newCrossing(4096)
		p := &pair{t: t}
		var err error
		p.a, err = New(Config{Port: &lossyPort{crossing: la, every: 37},
			Addrs: prefixes("10.0.0.1/24"), Seed: 1}, 0)
		require.NoError(t, err)
		p.b, err = New(Config{Port: &lossyPort{crossing: lb, every: 37},
			Addrs: prefixes("10.0.0.2/24"), Seed: 2}, 0)
		require.NoError(t, err)
		a, b := p.connected(o)
		s := newStream(p, a, b, op, 10000)
		for range 20 {
			s.burst(packet.Burst)
		}
		was := p.a.counters.Retransmitted
		require.Zero(t, testing.AllocsPerRun(50, func() { s.burst(packet.Burst) }), op.String())
		require.Greater(t, p.a.counters.Retransmitted, was+50)
	}
}

// An offer is for one connection, and the agreement of two offers is accepted.
func TestOffer(t *testing.T) {
	p := newPair(t)
	x, y := p.a.Setup().Offer(), p.b.Setup().Offer()
	require.NotEqual(t, x.Tag, p.a.Setup().Offer().Tag)
	a := defaults().make(t, p.a)
	require.NoError(t, a.qp.Modify(Init, QPAttr{}))
	rtr := QPAttr{Path: AddressVector{IP: netip.MustParseAddr("10.0.0.2")}, PathMTU: units.KiB,
		Extension: wire.Agree(x, y)}
	bad := rtr
	bad.Extension.SACKBits = 33
	require.ErrorIs(t, a.qp.Modify(ReadyToReceive, bad), ErrInvalid)
	require.NoError(t, a.qp.Modify(ReadyToReceive, rtr))
	require.True(t, a.qp.isSelective())
	a.qp.Modify(Reset, QPAttr{})
	require.False(t, a.qp.isSelective())
}
