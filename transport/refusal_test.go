package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// An operation for which the queue pair is not set up is an unsupported opcode, and thus an invalid
// request, whatever its key allows (InfiniBand spec 9.7.4.1, table of responder errors). Found by
// `make interop MODE=differential`.
func TestOperationsThatTheQueuePairDoesNotAllow(t *testing.T) {
	for _, c := range []struct {
		op     Op
		access Access
		n      int
	}{
		{OpWrite, RemoteRead | RemoteAtomic, 64}, {OpWrite, RemoteRead | RemoteAtomic, 0}, {OpRead,
			RemoteWrite | RemoteAtomic, 64},
		{OpRead, RemoteWrite | RemoteAtomic, 0}, {OpFetchAdd, RemoteWrite | RemoteRead, 8},
		{OpCmpSwap, RemoteWrite | RemoteRead, 8},
	} {
		p := newPair(t)
		a, b := p.connected(defaults())
		b.qp.access = c.access
		a.post(t, WorkRequest{Op: c.op, SGList: []SGE{a.mr.SGE(0, c.n)}, RemoteAddr: b.mr.Addr,
			RKey: b.mr.RKey})
		require.Equal(t, StatusRemInvReqErr, p.await(a, 1)[0].Status, "%v of %d bytes", c.op, c.n)
		require.EqualValues(t, 1, p.b.counters.NakInvalid)
		require.Zero(t, p.b.counters.NakAccess)
		require.Equal(t, Errored, b.qp.State())
		p.conserved()
	}
}

// UC has no acknowledgements: AckReq has no effect (InfiniBand spec 9.8.2). Found by `make interop
// MODE=differential`.
func TestUnreliableConnectionIgnoresAckReq(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.kind = UC
	_, b := p.connected(o)
	p.settle(units.Millisecond) // ARP
	p.lb.record = true
	b.recv(t, 1, 0, 4000)
	f := newForger(p, b)
	for i, op := range []wire.Opcode{wire.UCSendFirst, wire.UCSendLast, wire.UCWriteOnly} {
		f.send(wire.Fields{Op: op, Flags: wire.AckReq, PSN: wire.PSN(100 + i)}, 1024,
			func(ext []byte) {
				if op == wire.UCWriteOnly {
					wire.View[wire.RETH](ext).Set(b.mr.Addr+8192, b.mr.RKey, 1024)
				}
			}, nil)
		p.settle(units.Microsecond)
	}
	require.EqualValues(t, 3, b.qp.Stats().PacketsReceived)
	require.Empty(t, p.lb.sent, "a packet of UC gets no response")
	require.Zero(t, p.b.counters.AcksSent)
	p.conserved()
}

// The answer to a duplicate READ is what the duplicate requests, as a response of its own: FIRST or
// ONLY at its beginning, LAST at its end, and no byte more (InfiniBand spec 9.7.5.1.2). Found by
// `make interop MODE=differential`.
func TestDuplicateReadOfAPart(t *testing.T) {
	type answer struct {
		op   wire.Opcode
		psn  wire.PSN
		size int
	}
	first, middle, last, only := wire.RCReadResponseFirst, wire.RCReadResponseMiddle,
		wire.RCReadResponseLast, wire.RCReadResponseOnly
	for _, c := range []struct {
		name         string
		from, length uint32 // first packet in the original, and bytes
		want         []answer
	}{
		{"all", 0, 3000, []answer{{first, 100, 1024}, {middle, 101, 1024}, {last, 102, 952}}},
		{"all but the first packet", 1, 1976, []answer{{first, 101, 1024}, {last, 102, 952}}},
		{"the last packet", 2, 952, []answer{{only, 102, 952}}},
		{"less of the last packet", 2, 17, []answer{{only, 102, 17}}},
		{"some of the first packet", 0, 10, []answer{{only, 100, 10}}},
		{"the first packet", 0, 1024, []answer{{only, 100, 1024}}},
		{"to the middle", 0, 1599, []answer{{first, 100, 1024}, {last, 101, 575}}},
		{"the middle", 1, 1024, []answer{{only, 101, 1024}}},
		{"nothing", 1, 0, []answer{{only, 101, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			_, b := p.connected(defaults())
			fill(b.mem, 3)
			f := newForger(p, b)
			ask := func(psn wire.PSN, offset, length uint32) {
				f.send(wire.Fields{Op: wire.RCReadRequest, PSN: psn}, 0, func(ext []byte) {
					wire.View[wire.RETH](ext).Set(b.mr.Addr+uint64(offset), b.mr.RKey, length)
				}, nil)
				p.settle(units.Millisecond)
			}
			ask(100, 0, 3000)
			p.lb.record = true
			for range 2 { // the second one, too
				p.lb.sent = nil
				ask(100+wire.PSN(c.from), 1024*c.from, c.length)
				var got []answer
				for _, frame := range p.lb.sent {
					var q wire.Packet
					require.NoError(t, q.Parse(frame))
					require.Equal(t, b.mem[1024*(q.PSN-100):][:len(q.Payload())], q.Payload())
					got = append(got, answer{q.Op, q.PSN, len(q.Payload())})
				}
				require.Equal(t, c.want, got)
			}
			require.Equal(t, ReadyToSend, b.qp.State())
			p.conserved()
		})
	}
}
