package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// An operation that the queue pair is not set up for is an unsupported opcode, and thus an invalid
// request, whatever its key allows (InfiniBand spec 9.7.4.1, table of responder errors). Found by
// `make interop MODE=differential`.
func TestOperationsThatTheQueuePairDoesNotAllow(t *testing.T) {
	for _, c := range []struct {
		op     SendOp
		access Access
		n      int
	}{
		{OpWrite, RemoteRead | RemoteAtomic, 64}, {OpWrite, RemoteRead | RemoteAtomic, 0}, {OpRead, RemoteWrite | RemoteAtomic, 64},
		{OpRead, RemoteWrite | RemoteAtomic, 0}, {OpFetchAdd, RemoteWrite | RemoteRead, 8}, {OpCmpSwap, RemoteWrite | RemoteRead, 8},
	} {
		p := newPair(t)
		a, b := p.connected(defaults())
		b.qp.access = c.access
		a.post(t, WorkRequest{Op: c.op, SGList: []SGE{a.mr.SGE(0, c.n)}, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		require.Equal(t, StatusRemInvReqErr, p.await(a, 1)[0].Status, "%v of %d bytes", c.op, c.n)
		require.EqualValues(t, 1, p.b.counters.NakInvalid)
		require.Zero(t, p.b.counters.NakAccess)
		require.Equal(t, Errored, b.qp.State())
		p.conserved()
	}
}

// UC has no acknowledgements: AckReq asks for nothing (InfiniBand spec 9.8.2). Found by
// `make interop MODE=differential`.
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
		f.send(wire.Fields{Op: op, Flags: wire.AckReq, PSN: wire.PSN(100 + i)}, 1024, func(ext []byte) {
			if op == wire.UCWriteOnly {
				wire.RETH(ext[:wire.RETHLen]).Set(b.mr.Addr+8192, b.mr.RKey, 1024)
			}
		}, nil)
		p.settle(units.Microsecond)
	}
	require.EqualValues(t, 3, b.qp.Stats().PacketsReceived)
	require.Empty(t, p.lb.sent, "nothing answers a packet of UC")
	require.Zero(t, p.b.counters.AcksSent)
	p.conserved()
}
