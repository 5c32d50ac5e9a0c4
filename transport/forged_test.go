package transport

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// forger builds packets toward b as a would, with deviations.
type forger struct {
	p    *pair
	addr wire.Address
}

func newForger(p *pair, to *side) *forger {
	return &forger{p, wire.Address{SrcMAC: p.la.mac, DstMAC: p.lb.mac,
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 0xc000,
		DestQP: to.qp.Num}}
}

// send delivers a packet to b. body writes extended headers and payload.
func (f *forger) send(fields wire.Fields, payload int, body func(ext []byte),
	spoil func(frame []byte) []byte) {
	var t wire.Template
	require.NoError(f.p.t, t.Set(f.addr))
	frame := make([]byte, linkBuffer)
	ext, total := t.Build(frame, fields, payload)
	if body != nil {
		body(frame[ext:])
	}
	frame = frame[:total]
	t.Seal(frame)
	if spoil != nil {
		frame = spoil(frame)
	}
	var one [1]packet.Buf
	f.p.lb.Alloc(one[:])
	one[0].SetLen(copy(one[0].Room(), frame))
	one[0].Time = f.p.now
	f.p.lb.inbox = append(f.p.lb.inbox, one[0])
}

// TestForgedPackets sends what a peer, or anyone else, must not: each case has a counter of its
// own, and changes no byte of memory and no other queue pair.
func TestForgedPackets(t *testing.T) {
	write := func(addr uint64, rkey, n uint32) func([]byte) {
		return func(ext []byte) { wire.View[wire.RETH](ext).Set(addr, rkey, n) }
	}
	type forged struct {
		name   string
		fields wire.Fields
		size   int
		reth   *[3]uint32 // length, and offsets of address and key
		addr   func(a *wire.Address)
		spoil  func([]byte) []byte
		count  func(c *Stats) uint64
		state  State // of the queue pair afterwards
		mtu    units.Bytes
	}
	whole := &[3]uint32{64}
	for _, c := range []forged{
		{name: "bad ICRC", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 100}, size: 64,
			reth: whole,
			spoil: func(f []byte) []byte {
				f[len(f)-10] ^= 4
				return f
			}, count: func(c *Stats) uint64 { return c.DropICRC }},
		{name: "cut short", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 100}, size: 64,
			reth: whole,
			spoil: func(f []byte) []byte {
				return f[:len(f)-4]
			}, count: func(c *Stats) uint64 { return c.DropTruncated }},
		{name: "a header cut short", fields: wire.Fields{Op: wire.RCAck, PSN: 100},
			spoil: func(f []byte) []byte {
				return f[:40]
			}, count: func(c *Stats) uint64 { return c.DropTruncated }},
		{name: "another queue pair number", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 100},
			size: 64, reth: whole,
			addr: func(a *wire.Address) {
				a.DestQP += 5
			}, count: func(c *Stats) uint64 { return c.DropUnknownQP }},
		{name: "source is not the peer", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 100},
			size: 64, reth: whole,
			addr:  func(a *wire.Address) { a.Src = netip.MustParseAddr("10.0.0.9") },
			count: func(c *Stats) uint64 { return c.DropPeer }},
		{name: "another partition", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 100}, size: 64,
			reth: whole,
			addr: func(a *wire.Address) {
				a.PKey = 0x8123
			}, count: func(c *Stats) uint64 { return c.DropPKey }},
		{name: "opcode of another service", fields: wire.Fields{Op: wire.UCWriteOnly, PSN: 100},
			size: 64, reth: whole,
			count: func(c *Stats) uint64 { return c.DropWrongService }},
		{name: "undefined opcode", fields: wire.Fields{Op: wire.RCSendOnly, PSN: 100},
			size: 64,
			spoil: func(f []byte) []byte {
				f[42] = 0x1f
				return f
			}, count: func(c *Stats) uint64 { return c.DropOpcode }},
		{name: "future PSN", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 150}, size: 64,
			reth:  whole,
			count: func(c *Stats) uint64 { return c.OutOfSequence }},
		{name: "old PSN: acknowledged, not executed", fields: wire.Fields{Op: wire.RCWriteOnly,
			PSN: 90}, size: 64, reth: whole,
			count: func(c *Stats) uint64 { return c.DuplicateRequests }},
		{name: "old READ that never was", fields: wire.Fields{Op: wire.RCReadRequest, PSN: 90},
			reth:  whole,
			count: func(c *Stats) uint64 { return c.DropDuplicate }},
		{name: "old atomic that never was", fields: wire.Fields{Op: wire.RCFetchAdd, PSN: 90},
			count: func(c *Stats) uint64 { return c.DropDuplicate }},
		{name: "ACK of a packet never sent", fields: wire.Fields{Op: wire.RCAck, PSN: 200},
			count: func(c *Stats) uint64 { return c.DropGhostAck }},
		{name: "old ACK", fields: wire.Fields{Op: wire.RCAck, PSN: 99},
			count: func(c *Stats) uint64 {
				return c.DropStaleAck
			}},
		{name: "READ response to nothing", fields: wire.Fields{Op: wire.RCReadResponseOnly,
			PSN: 100}, size: 64,
			count: func(c *Stats) uint64 { return c.DropGhostResponse }},
		{name: "payload on an ACK", fields: wire.Fields{Op: wire.RCSendOnly, PSN: 100}, size: 64,
			spoil: func(f []byte) []byte {
				f[42] = byte(wire.RCAck)
				return f
			}, count: func(c *Stats) uint64 { return c.DropLength }},
		// Requests that the specification rejects with a fatal NAK.
		{name: "LAST without FIRST", fields: wire.Fields{Op: wire.RCWriteLast, PSN: 100}, size: 64,
			count: func(c *Stats) uint64 {
				return c.NakInvalid
			}, state: Errored},
		{name: "MIDDLE without FIRST", fields: wire.Fields{Op: wire.RCSendMiddle, PSN: 100},
			size: 1024, count: func(c *Stats) uint64 {
				return c.NakInvalid
			}, state: Errored},
		{name: "FIRST that is not full", fields: wire.Fields{Op: wire.RCSendFirst, PSN: 100},
			size: 1000, count: func(c *Stats) uint64 {
				return c.NakInvalid
			}, state: Errored},
		{name: "ONLY longer than the path MTU", fields: wire.Fields{Op: wire.RCSendOnly, PSN: 100},
			size: 1028, count: func(c *Stats) uint64 {
				return c.NakInvalid
			}, state: Errored},
		{name: "RETH too short", fields: wire.Fields{Op: wire.RCWriteOnly,
			PSN: 100}, size: 64, reth: &[3]uint32{60}, count: func(c *Stats) uint64 {
			return c.NakInvalid
		}, state: Errored},
		{name: "RETH too long", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 100}, size: 64,
			reth: &[3]uint32{68}, count: func(c *Stats) uint64 {
				return c.NakInvalid
			}, state: Errored},
		{name: "more than 2 GiB", fields: wire.Fields{Op: wire.RCWriteFirst, PSN: 100}, size: 1024,
			reth: &[3]uint32{1<<31 + 1}, count: func(c *Stats) uint64 {
				return c.NakInvalid
			}, state: Errored},
		{name: "READ of half of all PSNs", fields: wire.Fields{Op: wire.RCReadRequest, PSN: 100},
			reth: &[3]uint32{1 << 31}, mtu: 256, count: func(c *Stats) uint64 {
				return c.NakInvalid
			}, state: Errored},
		{name: "READ of one PSN less, past the end", fields: wire.Fields{Op: wire.RCReadRequest,
			PSN: 100}, reth: &[3]uint32{1<<31 - 256}, mtu: 256, count: func(c *Stats) uint64 {
			return c.NakAccess
		}, state: Errored},
		{name: "unknown key", fields: wire.Fields{Op: wire.RCWriteOnly, PSN: 100}, size: 64,
			reth: &[3]uint32{64, 0, 7}, count: func(c *Stats) uint64 {
				return c.NakAccess
			}, state: Errored},
		{name: "READ past the end", fields: wire.Fields{Op: wire.RCReadRequest, PSN: 100},
			reth: &[3]uint32{1000, 1<<16 - 999}, count: func(c *Stats) uint64 {
				return c.NakAccess
			}, state: Errored},
		{name: "SEND without a receive", fields: wire.Fields{Op: wire.RCSendOnly, PSN: 100},
			size: 64, count: func(c *Stats) uint64 {
				return c.RNRSent
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := defaults()
			if c.mtu != 0 {
				o.mtu = c.mtu
			}
			a, b := p.connected(o)
			_, other := p.connected(defaults())
			p.settle(units.Microsecond)
			fill(b.mem, 7)
			if c.size > 64 && c.state == Errored && c.reth == nil {
				b.recv(t, 1, 0, 4096)
			}
			before := bytes.Clone(b.mem)
			f := newForger(p, b)
			if c.addr != nil {
				c.addr(&f.addr)
			}
			var body func([]byte)
			if c.reth != nil {
				body = write(b.mr.Addr+uint64(c.reth[1]), b.mr.RKey+c.reth[2], c.reth[0])
			}
			was := p.b.counters
			f.send(c.fields, c.size, body, c.spoil)
			p.settle(units.Microsecond)
			require.EqualValues(t, 1, c.count(&p.b.counters)-c.count(&was), "%+v", p.b.counters)
			require.True(t, bytes.Equal(before, b.mem), "memory changed")
			want := c.state
			if want == Reset {
				want = ReadyToSend
			}
			require.Equal(t, want, b.qp.State())
			require.Equal(t, ReadyToSend, other.qp.State())
			_ = a
			p.conserved()
		})
	}
}

// FuzzReceive feeds arbitrary frames to an endpoint: it must not panic, must not lose a buffer, and
// must not touch memory outside the one region that a peer may access.
func FuzzReceive(f *testing.F) {
	for _, op := range []wire.Opcode{wire.RCSendOnly, wire.RCWriteFirst, wire.RCWriteOnlyImm,
		wire.RCReadRequest, wire.RCFetchAdd, wire.RCAck, wire.RCAtomicAck, wire.RCReadResponseFirst,
		wire.RCSendLastInv, wire.CNP} {
		for psn := uint32(100); psn < 103; psn++ {
			f.Add(byte(op), psn, []byte{0, 0, 0, 0, 0x10, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 64},
				uint16(64), psn > 100)
		}
	}
	for _, op := range []wire.Opcode{wire.XACK, wire.XDATA} {
		f.Add(byte(op), uint32(99), []byte{0x10, 2, 0x40, 0x11, 0x1f, 0, 0, 0, 2, 2, 0, 32, 0xb0, 0,
			0, 0}, uint16(8), true)
		f.Add(byte(op), uint32(99), []byte{0x10, 2, 0x40, 0x11, 0x60, 0, 0, 0, 2, 2, 0, 32, 0x80, 0,
			0, 0}, uint16(8), true)
	}
	f.Add(byte(wire.Probe), uint32(100), []byte{0x10, 0, 0x40, 0x11, 2, 7, 0, 0, 0, 0, 0, 5},
		uint16(0), true)
	f.Add(byte(wire.ProbeAck), uint32(99), []byte{0x10, 0, 0x40, 0x11, 3, 7, 0, 0, 0, 0, 0, 5},
		uint16(0), true)
	f.Add(byte(wire.SRC), uint32(101), []byte{0x10, 0, 0x40, 0x11, 0, 0, 3, 0xe8, 0, 0, 9, 0xc4},
		uint16(0), true)
	f.Add(byte(wire.XDATA), uint32(100), []byte{0x10, 3, 0x40, 0x11, 4, 0, 0, 0, 8, 3, 4, 0, 0,
		0x11, 0, 0, 0, 0, 0, 0}, uint16(64), true)
	f.Fuzz(func(t *testing.T, op byte, psn uint32, ext []byte, size uint16, sack bool) {
		p := newPair(t)
		o := defaults()
		if sack {
			o.sack, o.features = 64, wire.FeatureProbe
		}
		a, b := p.connected(o)
		b.recv(t, 1, 0, 1000)
		a.post(t, WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 3000)}, RemoteAddr: b.mr.Addr,
			RKey: b.mr.RKey})
		b.post(t, WorkRequest{Op: OpRead, SGList: []SGE{b.mr.SGE(8192, 3000)},
			RemoteAddr: a.mr.Addr, RKey: a.mr.RKey})
		p.settle(units.Microsecond)
		secret := make([]byte, 64)
		_, err := p.b.RegisterMemory(p.b.AllocPD(), secret, LocalWrite|RemoteWrite)
		require.NoError(t, err)
		fg := newForger(p, b)
		for i := range 3 {
			fg.send(wire.Fields{Op: wire.Opcode(op), Flags: wire.AckReq,
				PSN: wire.PSN(psn+uint32(i)) & wire.PSNMask}, int(size)%2048, func(room []byte) {
				copy(room[:len(room)-2060], ext)
			}, nil)
		}
		p.settle(10 * units.Millisecond)
		require.Equal(t, make([]byte, 64), secret)
		p.a.Close()
		p.b.Close()
		require.Zero(t, p.lb.out-len(p.lb.inbox))
	})
}

// filled returns a buffer of the link that holds a frame, as if it had arrived.
func (l *link) filled(frame []byte) packet.Buf {
	var one [1]packet.Buf
	l.Alloc(one[:])
	one[0].SetLen(copy(one[0].Room(), frame))
	one[0].Time = *l.now
	return one[0]
}
