package transport

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

func TestUnreliableConnection(t *testing.T) {
	for _, n := range sizes {
		p := newPair(t)
		o := defaults()
		o.kind, o.memory = UC, 1<<17
		a, b := p.connected(o)
		fill(a.mem, 5)
		b.recv(t, 1, 0, n)
		b.recv(t, 2, 0, 0)
		a.post(t, WorkRequest{ID: 1, Op: OpSendImm, Imm: 9, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, n)}})
		a.post(t, WorkRequest{ID: 2, Op: OpWriteImm, Imm: 8, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, n/2)}, RemoteAddr: b.mr.Addr + 50000, RKey: b.mr.RKey})
		require.Equal(t, []WorkCompletion{{ID: 1, Op: OpSendImm, QPN: a.qp.Num},
			{ID: 2, Op: OpWriteImm, QPN: a.qp.Num}}, p.await(a, 2))
		require.Equal(t, []WorkCompletion{
			{ID: 1, Op: OpRecv, ByteLen: uint32(n), WithImm: true, Imm: 9, QPN: b.qp.Num},
			{ID: 2, Op: OpRecvWriteImm, ByteLen: uint32(n / 2), WithImm: true, Imm: 8,
				QPN: b.qp.Num}}, p.await(b, 2))
		require.True(t, bytes.Equal(a.mem[:n], b.mem[:n]) && bytes.Equal(a.mem[:n/2],
			b.mem[50000:50000+n/2]))
		require.Zero(t, p.b.counters.AcksSent, "UC has no acknowledgements")
		p.conserved()
	}
}

// No ACK opens a window of UC: a message longer than the window leaves at once.
func TestUnreliableConnectionHasNoWindow(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.kind, o.algorithm = UC, &cc.Fixed{Window: 1000}
	a, b := p.connected(o)
	fill(a.mem, 5)
	b.recv(t, 1, 0, 10000)
	a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 10000)}})
	require.Equal(t, StatusSuccess, p.await(b, 1)[0].Status)
	require.True(t, bytes.Equal(a.mem[:10000], b.mem[:10000]))
}

// A lost packet of UC costs its message and no other; its receive is used for the next one.
func TestUnreliableConnectionLosesWholeMessages(t *testing.T) {
	for _, lost := range []wire.Opcode{wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLast} {
		p := newPair(t)
		o := defaults()
		o.kind = UC
		a, b := p.connected(o)
		fill(a.mem, 5)
		p.la.tamper = dropOnce(lost, 0)
		b.recv(t, 1, 0, 4000)
		a.post(t, WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(10000, 4000)}})
		a.post(t, WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 3000)}})
		got := p.await(b, 1)
		require.Equal(t, StatusSuccess, got[0].Status, lost.String())
		require.EqualValues(t, 3000, got[0].ByteLen, lost.String())
		require.True(t, bytes.Equal(a.mem[:3000], b.mem[:3000]))
		p.settle(units.Millisecond)
		require.Empty(t, b.poll())
		require.Equal(t, ReadyToSend, b.qp.State())
	}
}

func TestUnreliableConnectionIgnoresForbiddenWrites(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.kind = UC
	a, b := p.connected(o)
	fill(a.mem, 5)
	before := bytes.Clone(b.mem)
	a.post(t, WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 3000)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey + 1})
	p.settle(units.Millisecond)
	require.True(t, bytes.Equal(before, b.mem))
	require.EqualValues(t, 1, p.b.counters.UnreliableErrors)
	require.Equal(t, ReadyToSend, b.qp.State())
}

// A datagram belongs to its queue pair's partition, whatever its address handle.
func TestDatagramsStayInTheirPartition(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.kind = UD
	a, b := o.make(t, p.a), o.make(t, p.b)
	for _, s := range []*side{a, b} {
		require.NoError(t, s.qp.Connect(QPAttr{QKey: 5, PKey: 0x8123}))
	}
	ah, err := p.a.CreateAH(a.pd, AddressVector{IP: netip.MustParseAddr("10.0.0.2")})
	require.NoError(t, err)
	b.recv(t, 1, 0, 40+10)
	a.post(t, WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 10)}, AH: ah, RemoteQPN: b.qp.Num,
		RemoteQKey: 5})
	require.Equal(t, StatusSuccess, p.await(b, 1)[0].Status)
}

func TestDatagrams(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.kind = UD
	a, b := o.make(t, p.a), o.make(t, p.b)
	for _, s := range []*side{a, b} {
		require.NoError(t, s.qp.Connect(QPAttr{QKey: 0x11111111, SendPSN: 5}))
	}
	ah, err := p.a.CreateAH(a.pd, AddressVector{IP: netip.MustParseAddr("10.0.0.2")})
	require.NoError(t, err)
	fill(a.mem, 5)
	b.recv(t, 1, 0, 40+1001)
	b.recv(t, 2, 2000, 40+64)
	wr := WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 1001)}, AH: ah,
		RemoteQPN: b.qp.Num, RemoteQKey: 0x11111111}
	a.post(t, wr)
	wr.Op, wr.Imm, wr.SGList = OpSendImm, 77, []SGE{a.mr.SGE(0, 64)}
	a.post(t, wr)
	require.Equal(t, []WorkCompletion{
		{ID: 1, Op: OpRecv, ByteLen: 1041, WithGRH: true, QPN: b.qp.Num, SrcQP: a.qp.Num},
		{ID: 2, Op: OpRecv, ByteLen: 104, WithGRH: true, WithImm: true, Imm: 77, QPN: b.qp.Num,
			SrcQP: a.qp.Num}}, p.await(b, 2))
	require.Len(t, p.await(a, 2), 2)
	require.True(t, bytes.Equal(a.mem[:1001], b.mem[40:1041]))
	require.EqualValues(t, 0x45, b.mem[20],
		"the last 20 bytes of the GRH are the IPv4 header")

	// Datagrams that must not be delivered, and what counts them.
	for _, c := range []struct {
		name  string
		spoil func(wr *WorkRequest)
		count func(c *Stats) uint64
	}{
		{"wrong Q_Key", func(wr *WorkRequest) {
			wr.RemoteQKey++
		}, func(c *Stats) uint64 { return c.DropQKey }},
		{"unknown queue pair", func(wr *WorkRequest) {
			wr.RemoteQPN += 999
		}, func(c *Stats) uint64 { return c.DropUnknownQP }},
		{"no receive posted", func(*WorkRequest) {}, func(c *Stats) uint64 {
			return c.UnreliableNoRecv
		}},
	} {
		bad := wr
		c.spoil(&bad)
		a.post(t, bad)
		p.await(a, 1)
		p.settle(units.Millisecond)
		require.EqualValues(t, 1, c.count(&p.b.counters), c.name)
	}
	b.recv(t, 3, 4000, 40+63)
	a.post(t, wr)
	p.await(a, 1)
	p.settle(units.Millisecond)
	require.EqualValues(t, 1, p.b.counters.UnreliableErrors, "longer than the receive")
	require.Empty(t, b.poll())
	p.conserved()
}

func TestDatagramToUnknownHostCompletes(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.kind = UD
	a := o.make(t, p.a)
	require.NoError(t, a.qp.Connect(QPAttr{}))
	ah, err := p.a.CreateAH(a.pd, AddressVector{IP: netip.MustParseAddr("10.0.0.77")})
	require.NoError(t, err)
	for range 3 {
		a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 10)}, AH: ah,
			RemoteQPN: 5})
	}
	require.Len(t, p.await(a, 3), 3, "a neighbour that does not answer holds nothing up")
	require.EqualValues(t, 3, p.a.counters.NoNeighbor)
}

// A program in the loop sees what completes while a round transmits at the same time: Poll asks for
// another round.
func TestOnRoundSeesWhatTransmissionCompleted(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.kind = UC
	a, _ := p.connected(o)
	p.settle(units.Millisecond) // the neighbour entries are resolved
	seen := 0
	p.a.Loop().OnRound(func(units.Time) {
		var wcs [4]WorkCompletion
		seen += a.qp.snd.cold().cq.Poll(wcs[:])
	})
	a.post(t, WorkRequest{Op: OpSend, Signaled: true})
	next := p.a.Poll(p.now)
	require.Zero(t, seen)
	require.Equal(t, p.now, next)
	p.a.Poll(p.now)
	require.Equal(t, 1, seen)
}
