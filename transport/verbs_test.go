package transport

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

func TestStateMachine(t *testing.T) {
	p := newPair(t)
	o := defaults()
	a, b := o.make(t, p.a), o.make(t, p.b)
	qp := a.qp
	require.ErrorIs(t, qp.Modify(ReadyToReceive, QPAttr{}), ErrState)
	require.ErrorIs(t, qp.Modify(ReadyToSend, QPAttr{}), ErrState)
	require.ErrorIs(t, qp.PostRecv(&RecvRequest{}), ErrState)
	require.NoError(t, qp.Modify(Init, QPAttr{}))
	require.NoError(t, qp.PostRecv(&RecvRequest{ID: 3}))
	require.ErrorIs(t, qp.PostSend(&WorkRequest{}), ErrState)
	require.ErrorContains(t, qp.Modify(ReadyToReceive, QPAttr{PathMTU: 1000}),
		"path MTU 1000 is not 256, 512")
	require.ErrorContains(t,
		qp.Modify(ReadyToReceive, QPAttr{PathMTU: units.KiB, Path: AddressVector{}}),
		"no peer address")
	require.Equal(t, Init, qp.State(), "a refused transition changes nothing")
	a.qp.Modify(Errored, QPAttr{})
	require.Equal(t, []WorkCompletion{{ID: 3, Status: StatusWRFlushErr, Op: OpRecv, QPN: qp.Num}},
		a.poll())
	require.ErrorIs(t, qp.Modify(Init, QPAttr{}), ErrState)
	qp.Modify(Reset, QPAttr{})
	a.comp = nil
	a.connect(t, o, b)
	b.connect(t, o, a)
	b.recv(t, 1, 0, 10)
	a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 10)}})
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	qp.Destroy()
	require.Nil(t, p.a.qps.find(qp.Num))
	b.post(t, WorkRequest{Op: OpSend, SGList: []SGE{b.mr.SGE(0, 10)}})
	require.Equal(t, StatusRetryExcErr, p.await(b, 2)[1].Status)
	require.NotZero(t, p.a.counters.DropUnknownQP)
}

func TestSendQueueDrained(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	for i := range 4 {
		b.recv(t, uint64(i), 0, 3000)
		a.post(t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, 3000)}})
	}
	for len(b.poll()) == 0 {
		p.now = p.step()
	}
	require.NoError(t, a.qp.Modify(SQDrained, QPAttr{}))
	p.settle(units.Millisecond)
	ev, ok := p.a.PollAsync()
	require.True(t, ok)
	require.Equal(t, AsyncEvent{Kind: AsyncSQDrained, QP: a.qp}, ev)
	require.NoError(t, a.qp.Modify(ReadyToSend, QPAttr{}))
	p.await(a, 4)
	require.Len(t, b.poll(), 4)
}

func TestSharedReceiveQueue(t *testing.T) {
	p := newPair(t)
	o := defaults()
	ob := o
	ob.pd = p.b.AllocPD()
	srq, err := p.b.CreateSRQ(ob.pd, 8, 2)
	require.NoError(t, err)
	ob.srq = srq
	var as, bs []*side
	for range 3 {
		a, b := o.make(t, p.a), ob.make(t, p.b)
		a.connect(t, o, b)
		b.connect(t, ob, a)
		as, bs = append(as, a), append(bs, b)
	}
	for i := range 8 {
		require.NoError(t,
			srq.PostRecv(&RecvRequest{ID: uint64(i), SGList: []SGE{bs[0].mr.SGE(i*4096, 100),
				bs[0].mr.SGE(i*4096+100, 3996)}}))
	}
	require.ErrorIs(t, srq.PostRecv(&RecvRequest{}), ErrQueueFull)
	require.ErrorIs(t, bs[0].qp.PostRecv(&RecvRequest{}), ErrInvalid)
	require.ErrorIs(t, srq.Destroy(), ErrBusy)
	srq.Arm(3)
	for i, a := range as {
		fill(a.mem[:3000], byte(i))
		a.post(t, WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 3000)}})
		a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 3000)}})
	}
	for i, b := range bs {
		for _, wc := range p.await(b, 2) {
			at := int(wc.ID) * 4096
			require.True(t, bytes.Equal(as[i].mem[:3000], bs[0].mem[at:at+3000]))
		}
	}
	ev, ok := p.b.PollAsync()
	require.True(t, ok)
	require.Equal(t, AsyncSRQLimit, ev.Kind)
	bs[0].qp.Modify(Errored, QPAttr{})
	ev, _ = p.b.PollAsync()
	require.Equal(t, AsyncLastWQEReached, ev.Kind)
	require.EqualValues(t, 2, srq.queue.len(), "a shared queue is not flushed")
}

// A receive that a message has begun to fill keeps its elements when others are posted.
func TestReceivesPostedDuringAMessage(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.algorithm = &cc.Fixed{Window: 1024} // a packet at a time
	a, b := o.make(t, p.a), o.make(t, p.b)
	qp, err := p.b.CreateQP(QPInit{PD: b.pd, SendCQ: b.cq, RecvCQ: b.cq, MaxRecvWR: 1,
		MaxRecvSGE: 3})
	require.NoError(t, err)
	b.qp = qp
	a.connect(t, o, b)
	b.connect(t, o, a)
	fill(a.mem[:3000], 7)
	post := func(id uint64, at int) {
		require.NoError(t,
			b.qp.PostRecv(&RecvRequest{ID: id,
				SGList: []SGE{b.mr.SGE(at, 10), b.mr.SGE(at+100, 1500), b.mr.SGE(at+2000, 1490)}}))
	}
	post(1, 0)
	a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 3000)}})
	for b.qp.rcv.queue.len() > 0 {
		p.now = p.step()
	}
	require.True(t, b.qp.rcv.hasReceive, "the message has begun")
	post(2, 10000)
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	got := bytes.Join([][]byte{b.mem[:10], b.mem[100:1600], b.mem[2000:3490]}, nil)
	require.True(t, bytes.Equal(a.mem[:3000], got))
}

func TestCompletionQueueOverrunStopsTheQueuePair(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.depth = 8
	a, b := p.connected(o)
	small, err := p.a.CreateCQ(2)
	require.NoError(t, err)
	a.qp.snd.cold().cq = small
	for range 8 {
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	}
	p.settle(units.Millisecond)
	require.True(t, small.overrun)
	require.Equal(t, Errored, a.qp.State())
	kinds := map[AsyncKind]int{}
	for ev, ok := p.a.PollAsync(); ok; ev, ok = p.a.PollAsync() {
		kinds[ev.Kind]++
	}
	require.Equal(t, map[AsyncKind]int{AsyncCQError: 1, AsyncQPFatal: 1}, kinds)
	require.Equal(t, 2, small.Len(), "completions that fitted are kept")
}

// A program that posts to a queue pair in Errored before it polls loses no completion.
func TestErroredQueuePairFillsNoCompletionQueue(t *testing.T) {
	p := newPair(t)
	a, _ := p.connected(defaults())
	small, err := p.a.CreateCQ(3)
	require.NoError(t, err)
	a.qp.snd.cold().cq, a.qp.rcv.cq = small, small
	require.NoError(t, a.qp.Modify(Errored, QPAttr{}))
	require.NoError(t, a.qp.PostSend(&WorkRequest{ID: 1}))
	require.NoError(t, a.qp.PostRecv(&RecvRequest{ID: 2}))
	require.NoError(t, a.qp.PostSend(&WorkRequest{ID: 3}))
	require.ErrorIs(t, a.qp.PostSend(&WorkRequest{}), ErrQueueFull)
	require.ErrorIs(t, a.qp.PostRecv(&RecvRequest{}), ErrQueueFull)
	require.False(t, small.overrun)
	var wcs [3]WorkCompletion
	require.Equal(t, 3, small.Poll(wcs[:]))
	for i, wc := range wcs {
		require.EqualValues(t, i+1, wc.ID)
		require.Equal(t, StatusWRFlushErr, wc.Status)
	}
}

func TestWhatTheReceiverCouldNotReportIsNotAcknowledged(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.retries = 0
	a, b := p.connected(o)
	small, err := p.b.CreateCQ(1)
	require.NoError(t, err)
	b.qp.rcv.cq = small
	for i := range 2 {
		b.recv(t, uint64(i), 0, 8)
		a.post(t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, 8)}})
		p.settle(units.Microsecond * 3)
	}
	got := p.await(a, 2)
	require.Equal(t, []Status{StatusSuccess, StatusRetryExcErr},
		[]Status{got[0].Status, got[1].Status})
	require.Equal(t, Errored, b.qp.State())
}

func TestRefusedRequests(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.depth = 2
	a, _ := p.connected(o)
	for _, c := range []struct {
		name string
		wr   WorkRequest
		err  error
		want string
	}{
		{"too many elements", WorkRequest{SGList: make([]SGE, 5)}, ErrInvalid,
			"5 elements, the queue takes 4"},
		{"too much inline", WorkRequest{Inline: true, Data: make([]byte, 65)}, ErrInvalid,
			"65 bytes inline, the queue takes 64"},
		{"READ inline", WorkRequest{Op: OpRead, Inline: true}, ErrInvalid,
			"RDMA_READ cannot be inline"},
		{"atomic of 4 bytes", WorkRequest{Op: OpCmpSwap, SGList: []SGE{a.mr.SGE(0, 4)}}, ErrInvalid,
			"takes 8 bytes, not 4"},
		{"unknown operation", WorkRequest{Op: 99}, ErrInvalid, "Op(99)"},
		{"3 GiB", WorkRequest{SGList: []SGE{{Length: 3 << 30}}}, ErrInvalid, "3221225472 bytes"},
		{"3 GiB in pieces", WorkRequest{SGList: []SGE{{Length: 3 << 29}, {Length: 3 << 29}}},
			ErrInvalid, "3221225472 bytes"},
	} {
		err := a.qp.PostSend(&c.wr)
		require.ErrorIs(t, err, c.err, c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	for range 2 {
		a.post(t, WorkRequest{SGList: []SGE{a.mr.SGE(0, 1)}})
	}
	require.ErrorIs(t, a.qp.PostSend(&WorkRequest{}), ErrQueueFull)
	require.Equal(t, 0, a.qp.SendRoom())
	_, err := p.a.CreateQP(QPInit{})
	require.ErrorIs(t, err, ErrInvalid)
	_, err = p.a.CreateCQ(-1)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = p.a.RegisterMemoryAt(a.pd, make([]byte, 10), ^uint64(4), 0)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = p.a.RegisterMemory(p.b.AllocPD(), nil, 0)
	require.ErrorIs(t, err, ErrInvalid)
}

func TestPortWithoutBuffersOrRoom(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	p.settle(units.Millisecond)
	p.la.room = 3
	fill(a.mem, 1)
	b.recv(t, 1, 0, 20000)
	a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20000)}})
	for len(a.poll()) == 0 {
		p.now = p.now.Add(units.Microsecond)
		p.step()
	}
	require.NotZero(t, p.a.counters.PortFull)
	require.Zero(t, p.a.counters.Retransmitted, "nothing was lost")
	p.la.noAlloc = true
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	for range 100 {
		p.now = p.now.Add(units.Microsecond)
		p.step()
	}
	p.la.noAlloc = false
	a.comp = nil
	p.la.room = 0
	p.await(a, 1)
	require.True(t, bytes.Equal(a.mem[:20000], b.mem[:20000]))
	p.conserved()
}

// Neither a hold nor a window of one byte loses or stops anything.
func TestWindowAndHold(t *testing.T) {
	p := newPair(t)
	o := defaults()
	ctl := &script{decision: cc.Decision{Window: 1}}
	o.algorithm = ctl
	a, b := p.connected(o)
	o.algorithm = nil
	fill(a.mem, 1)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	a.post(t, WorkRequest{Op: OpRead, Signaled: true, SGList: []SGE{a.mr.SGE(10000, 8000)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	require.Len(t, p.await(a, 2), 2)
	require.True(t, bytes.Equal(a.mem[:8000], a.mem[10000:18000]))
	require.LessOrEqual(t, ctl.inFlight, units.Bytes(units.KiB), "one packet at a time")
	require.EqualValues(t, 16000, ctl.acked)
	require.Positive(t, ctl.delay)
	p.conserved()
}

// script is an algorithm that records its events.
type script struct {
	decision        cc.Decision
	inFlight, acked units.Bytes
	delay           units.Duration
}

func (*script) Events() cc.EventSet {
	return cc.Events(cc.ACK, cc.RTT, cc.TX, cc.OOO, cc.RTO, cc.CNP)
}
func (s *script) Start(units.Time) cc.Decision { return s.decision }
func (s *script) On(ev *cc.Event, _ units.Time) cc.Decision {
	s.inFlight = max(s.inFlight, ev.InFlight)
	if ev.Kind == cc.ACK || ev.Kind == cc.RTT {
		s.acked += ev.Bytes
	}
	if ev.Kind == cc.RTT {
		s.delay = ev.Delay
	}
	return s.decision
}

func TestPacedRate(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.algorithm = &cc.Fixed{Window: units.MiB, Rate: units.Gbps}
	a, b := p.connected(o)
	p.settle(units.Millisecond)
	start := p.now
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 50*1024)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	p.await(a, 1)
	ideal := units.Gbps.Duration(49 * 1024)
	took := p.now.Sub(start)
	require.InDelta(t, ideal.Microseconds(), took.Microseconds(), 5, "%v for %v", took, ideal)
}

func TestNothingIsAllocatedPerPacket(t *testing.T) {
	for _, c := range []struct {
		op   Op
		size int
	}{{OpSend, 32}, {OpSend, 10000}, {OpSendImm, 32}, {OpWrite, 10000}, {OpWriteImm, 64},
		{OpRead, 10000}, {OpFetchAdd, 8}, {OpCmpSwap, 8}} {
		o := defaults()
		p, as, bs := crossedPair(t, o, 1)
		s := newStream(p, as[0], bs[0], c.op, c.size)
		s.burst(packet.Burst)
		require.Zero(t, testing.AllocsPerRun(50, func() {
			s.burst(packet.Burst)
		}), "%v of %d bytes", c.op, c.size)
	}
}

// A hundred thousand queue pairs fit in memory: each takes at most a KiB beyond its queues.
func TestQueuePairsAreSmall(t *testing.T) {
	n := 100_000
	if race.Short() {
		n = 10_000
	}
	la, _ := newCrossing(32)
	e, err := New(Config{Port: la, Addrs: prefixes("10.0.0.1/24"), Seed: 1}, 0)
	require.NoError(t, err)
	pd := e.AllocPD()
	cq, err := e.CreateCQ(16)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		_, err := e.CreateQP(QPInit{Type: RC, PD: pd, SendCQ: cq, RecvCQ: cq, MaxSendWR: 1,
			MaxRecvWR: 1})
		require.NoError(t, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// a send entry with its atomic's arguments and a receive entry, as allocated
	const queues = 64 + 16 + 48
	each := float64(after.HeapAlloc-before.HeapAlloc)/float64(n) - queues
	t.Logf("%.0f bytes each", each)
	require.LessOrEqual(t, each, 1024.)
	runtime.KeepAlive(e)
}

func TestKeysAreUniqueAndEnd(t *testing.T) {
	p := newPair(t)
	pd := p.a.AllocPD()
	seen := map[uint32]*MemoryRegion{}
	for range 10_000 {
		mr, err := p.a.RegisterMemory(pd, make([]byte, 1), 0)
		require.NoError(t, err)
		require.Nil(t, seen[mr.RKey])
		seen[mr.RKey] = mr
	}
	for key, mr := range seen {
		require.Same(t, mr, p.a.regions.find(key))
		mr.Deregister()
		require.Nil(t, p.a.regions.find(key))
		mr.Deregister() // twice does nothing
	}
	require.Zero(t, p.a.regions.count)
}

func TestPingAndSilence(t *testing.T) {
	p := newPair(t)
	var one [1]packet.Buf
	p.la.Alloc(one[:])
	one[0].SetLen(copy(one[0].Room(), bytes.Repeat([]byte{0xff}, 60)))
	p.la.inbox = append(p.la.inbox, one[0])
	p.settle(units.Microsecond)
	require.EqualValues(t, 1, p.a.counters.DropNotOurs)
	_, err := New(Config{Port: p.la, Addrs: nil}, 0)
	require.Error(t, err)
	require.False(t, errors.Is(err, ErrState))
}

// A READ takes all its PSNs at once, and the last must come after the first: 2^31 bytes in packets
// of 256 are too many.
func TestLongestREAD(t *testing.T) {
	for _, c := range []struct {
		mtu    units.Bytes
		length uint32
		ok     bool
	}{
		{256, 1 << 31, false}, {256, 1<<31 - 255, false}, {256, 1<<31 - 256, true},
		{512, 1 << 31, true},
	} {
		o := defaults()
		o.mtu = c.mtu
		a, _ := newPair(t).connected(o)
		err := a.qp.PostSend(&WorkRequest{Op: OpRead, SGList: []SGE{{Length: c.length}}})
		if c.ok {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrInvalid, "%d bytes at %d", c.length, c.mtu)
		}
	}
}
