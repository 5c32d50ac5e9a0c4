package engine

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

const typeRC = 2

// connected returns two queue pairs that are connected.
func connected(t testing.TB, channel bool) (a, b *endpoint, socket int) {
	x, y := pair(t)
	handle := protocol.Handle{}
	if channel {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		y.must(protocol.OpCreateChannel, nil, &handle, ends[1])
		_ = unix.Close(ends[1])
		socket = ends[0]
		t.Cleanup(func() { _ = unix.Close(socket) })
	}
	a, b = x.endpoint(typeRC, 0), y.endpoint(typeRC, handle.Handle)
	a.connect(b)
	b.connect(a)
	return a, b, socket
}

func TestSend(t *testing.T) {
	a, b, _ := connected(t, false)
	for i := range 100 {
		b.qp.put(b.qp.Recv, protocol.RQE{WRID: uint64(i), Elements: 2}, b.sge(0, 10),
			b.sge(100, 50))
		copy(a.buffer, "0123456789abcdefghij")
		a.qp.put(a.qp.Send, protocol.WQE{WRID: uint64(i), Elements: 1, Opcode: 3, Imm: 0xcafe,
			Flags: sendSignaled}, a.sge(0, 20))
		sent, got := a.cq.poll(t), b.cq.poll(t)
		require.Equal(t, uint64(i), sent.WRID)
		require.Zero(t, sent.Status)
		require.Zero(t, got.Status)
		require.Equal(t, uint32(20), got.ByteLen)
		require.Equal(t, uint8(128), got.Opcode)
		require.Equal(t, uint32(0xcafe), got.Imm)
		require.Equal(t, uint16(wcWithImm), got.Flags)
		require.Equal(t, b.qp.Number, got.QPNum)
		require.Equal(t, "0123456789", string(b.buffer[:10]))
		require.Equal(t, "abcdefghij", string(b.buffer[100:110]))
		clear(b.buffer)
	}
}

func TestWriteReadAtomicInline(t *testing.T) {
	a, b, _ := connected(t, false)
	remote := protocol.WQE{RemoteAddr: b.addr(64), RKey: b.keys.RKey, Flags: sendSignaled}
	w := remote
	w.Length, w.Flags = 5, w.Flags|sendInline
	a.qp.put(a.qp.Send, w, []byte("hello"))
	require.Zero(t, a.cq.poll(t).Status)
	require.Equal(t, "hello", string(b.buffer[64:69]))

	w = remote
	w.Opcode, w.Elements = 4, 1
	a.qp.put(a.qp.Send, w, a.sge(512, 5))
	done := a.cq.poll(t)
	require.Zero(t, done.Status)
	require.Equal(t, uint8(2), done.Opcode)
	require.Equal(t, "hello", string(a.buffer[512:517]))

	binary.NativeEndian.PutUint64(b.buffer[64:], 40)
	w = remote
	w.Opcode, w.Elements = 6, 1
	a.qp.put(a.qp.Send, w, a.sge(1024, 8), uint64(2), uint64(0))
	require.Zero(t, a.cq.poll(t).Status)
	require.Equal(t, uint64(40), binary.NativeEndian.Uint64(a.buffer[1024:]))
	require.Equal(t, uint64(42), binary.NativeEndian.Uint64(b.buffer[64:]))
}

// A completion event comes once for each time that the queue is armed.
func TestCompletionEvent(t *testing.T) {
	a, b, socket := connected(t, true)
	event := make([]byte, 8)
	for i, solicited := range []bool{true, false, true} {
		b.cq.arm(protocol.ArmedSolicited)
		b.qp.put(b.qp.Recv, protocol.RQE{Elements: 1}, b.sge(0, 10))
		w := protocol.WQE{WRID: uint64(i), Elements: 1, Opcode: 2}
		if solicited {
			w.Flags |= sendSolicited
		}
		a.qp.put(a.qp.Send, w, a.sge(0, 10))
		b.cq.poll(t)
		// the event follows the completion
		fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}}
		limit := 5000
		if !solicited {
			limit = 20
		}
		n, err := unix.Poll(fds, limit)
		require.NoError(t, err)
		if !solicited {
			require.Zero(t, n)
			continue
		}
		got, err := unix.Read(socket, event)
		require.NoError(t, err)
		require.Equal(t, 8, got)
		require.Equal(t, uint64(77), binary.NativeEndian.Uint64(event))
	}
}

// What is wrong with a request ends in a completion, and what is wrong for the peer in an event
// there.
func TestBadRequests(t *testing.T) {
	type wqe = protocol.WQE
	type sge = protocol.SGE
	const prot, op = transport.StatusLocProtErr, statusLocQPOpErr
	for name, bad := range map[string]struct {
		change func(w *wqe, s *sge)
		status transport.Status
	}{
		"lkey":       {func(_ *wqe, s *sge) { s.LKey++ }, prot},
		"bounds":     {func(_ *wqe, s *sge) { s.Length = 1 << 20 }, prot},
		"rkey":       {func(w *wqe, _ *sge) { w.RKey++ }, transport.StatusRemAccessErr},
		"opcode":     {func(w *wqe, _ *sge) { w.Opcode = 8 }, op},
		"no opcode":  {func(w *wqe, _ *sge) { w.Opcode = 200 }, op},
		"elements":   {func(w *wqe, _ *sge) { w.Elements = 999 }, op},
		"misaligned": {func(w *wqe, _ *sge) { w.Opcode, w.RemoteAddr = 6, w.RemoteAddr+1 }, op},
		"inline": {func(w *wqe, _ *sge) {
			w.Flags, w.Length = w.Flags|sendInline, 1<<31
		}, op},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, _ := connected(t, false)
			w := protocol.WQE{WRID: 5, Elements: 1, RemoteAddr: b.addr(0), RKey: b.keys.RKey}
			s := a.sge(0, 8)
			bad.change(&w, &s)
			a.qp.put(a.qp.Send, w, s, uint64(0), uint64(0))
			got := a.cq.poll(t)
			require.Equal(t, uint64(5), got.WRID)
			require.Equal(t, bad.status, transport.Status(got.Status))
			var attr protocol.QPAttr
			a.must(protocol.OpQueryQP, &protocol.Handle{Handle: a.qp.Handle}, &attr)
			require.Equal(t, uint32(transport.Errored), attr.State)
		})
	}
}

func TestAsyncEvent(t *testing.T) {
	a, b, _ := connected(t, false)
	a.qp.put(a.qp.Send, protocol.WQE{Elements: 1, RemoteAddr: b.addr(0), RKey: 1}, a.sge(0, 8))
	a.cq.poll(t)
	event := make([]byte, 16)
	for { // COMM_EST comes first
		n, err := unix.Read(b.events, event)
		require.NoError(t, err)
		require.Equal(t, len(event), n)
		require.Equal(t, uint64(99), binary.NativeEndian.Uint64(event[8:]))
		if binary.NativeEndian.Uint32(event) == eventKinds[transport.AsyncQPAccessErr] {
			return
		}
	}
}

// Every request with handles that are unknown or of another kind fails, and nothing else happens.
func TestRefusals(t *testing.T) {
	x, _ := pair(t)
	o := x.endpoint(typeRC, 0)
	type request struct {
		op    protocol.Op
		body  any
		errno unix.Errno
	}
	for name, r := range map[string]request{
		"operation":    {protocol.FirstCM - 1, nil, unix.EOPNOTSUPP},
		"second hello": {protocol.OpHello, &protocol.Hello{Version: 1}, unix.EINVAL},
		"length":       {protocol.OpAllocPD, &protocol.Handle{}, unix.EINVAL},
		"unknown pd":   {protocol.OpDeallocPD, &protocol.Handle{Handle: 999}, unix.EINVAL},
		"cq as pd": {protocol.OpDeallocPD,
			&protocol.Handle{Handle: o.cq.Handle}, unix.EINVAL},
		"pd in use": {protocol.OpDeallocPD, &protocol.Handle{Handle: o.pd}, unix.EBUSY},
		"cq in use": {protocol.OpDestroyCQ,
			&protocol.Handle{Handle: o.cq.Handle}, unix.EBUSY},
		"unmapped memory": {protocol.OpRegMR,
			&protocol.RegMR{Addr: 4096, Length: 4096, PD: o.pd}, unix.EFAULT},
		"memory overflow": {protocol.OpRegMR,
			&protocol.RegMR{Addr: 1 << 63, Length: 1 << 63, PD: o.pd}, unix.EFAULT},
		"access": {protocol.OpRegMR, &protocol.RegMR{Addr: o.addr(0), Length: 1, PD: o.pd,
			Access: accessOnDemand}, unix.EINVAL},
		"remote write alone": {protocol.OpRegMR, &protocol.RegMR{Addr: o.addr(0), Length: 1,
			PD: o.pd, Access: accessRemoteWrite}, unix.EINVAL},
		"cq depth": {protocol.OpCreateCQ, &protocol.CreateCQ{Depth: 1 << 31}, unix.EINVAL},
		"cq channel": {protocol.OpCreateCQ,
			&protocol.CreateCQ{Depth: 1, Channel: o.pd}, unix.EINVAL},
		"resize": {protocol.OpResizeCQ,
			&protocol.CreateCQ{Handle: o.cq.Handle}, unix.EINVAL},
		"qp type": {protocol.OpCreateQP, &protocol.CreateQP{Type: 9}, unix.EOPNOTSUPP},
		"qp size": {protocol.OpCreateQP,
			&protocol.CreateQP{Type: 2, MaxSendWR: 1 << 31}, unix.EINVAL},
		"qp without": {protocol.OpCreateQP, &protocol.CreateQP{Type: 2}, unix.EINVAL},
		"srq size": {protocol.OpCreateSRQ,
			&protocol.CreateSRQ{PD: o.pd, MaxWR: 1 << 30}, unix.EINVAL},
		"no channel": {protocol.OpCreateChannel, nil, unix.EINVAL},
		"no grh":     {protocol.OpCreateAH, &protocol.CreateAH{PD: o.pd}, unix.EINVAL},
		"reset>rts": {protocol.OpModifyQP,
			&protocol.QPAttr{Handle: o.qp.Handle, Mask: 1, State: 3}, unix.EINVAL},
		"no state": {protocol.OpModifyQP,
			&protocol.QPAttr{Handle: o.qp.Handle, Mask: 1, State: 99}, unix.EINVAL},
		"missing": {protocol.OpModifyQP,
			&protocol.QPAttr{Handle: o.qp.Handle, Mask: 1, State: 1}, unix.EINVAL},
		"foreign key": {protocol.OpDeregMR, &protocol.Handle{Handle: o.keys.LKey}, unix.EINVAL},
	} {
		errno, fds := x.call(r.op, r.body, nil)
		require.Equal(t, r.errno, errno, name)
		require.Empty(t, fds, name)
	}
	h, _, _ := x.raw([]byte{1})
	require.NotZero(t, h.Error)

	early := connection(t, x.engine)
	errno, _ := early.call(protocol.OpAllocPD, nil, nil)
	require.Equal(t, unix.EINVAL, errno, "before Hello")
}

// A session that ends, in whatever state, leaves nothing behind.
func TestSessionEnd(t *testing.T) {
	a, b, _ := connected(t, false)
	for range 8 {
		a.qp.put(a.qp.Send, protocol.WQE{Elements: 1, RemoteAddr: b.addr(0), RKey: b.keys.RKey},
			a.sge(0, 4096))
	}
	a.close()
	require.Eventually(t, func() bool { return a.engine.Sessions() == 0 }, 5*time.Second,
		time.Millisecond)
	require.NoError(t, a.engine.do(func(ep *transport.Endpoint) {
		s := ep.Stats()
		require.Zero(t, s.Holdings.QueuePairs)
		require.Empty(t, a.engine.attached)
		require.Empty(t, a.engine.cqs)
		require.Empty(t, a.engine.dirty)
	}))
	dial(t, a.engine).endpoint(typeRC, 0) // the next one is served
}

func TestResizeCQ(t *testing.T) {
	a, b, _ := connected(t, false)
	for i := range 10 {
		a.qp.put(a.qp.Send, protocol.WQE{WRID: uint64(i), Elements: 1, RemoteAddr: b.addr(0),
			RKey: b.keys.RKey, Flags: sendSignaled}, a.sge(0, 8))
	}
	for i := range 3 {
		require.Equal(t, uint64(i), a.cq.poll(t).WRID)
	}
	time.Sleep(10 * time.Millisecond)
	q := &testCQ{}
	fds := a.must(protocol.OpResizeCQ, &protocol.CreateCQ{Handle: a.cq.Handle, Depth: 200}, &q.CQ)
	q.memory = a.mmap(fds[0], cqSize(int(q.Entries)))
	require.Equal(t, uint32(256), q.Entries)
	for i := 3; i < 10; i++ {
		require.Equal(t, uint64(i), q.poll(t).WRID)
	}
}

// scribble fills the rings and tails of a session with bytes.
func scribble(o *endpoint, data []byte) {
	for i := range data {
		o.qp.memory[(i*131)%len(o.qp.memory)] = data[i]
		o.cq.memory[(i*61)%len(o.cq.memory)] = data[i]
	}
	session := &shared{bytes: o.session}
	for i := 0; i+4 <= len(data) && i < 64; i += 4 {
		queue := int(data[i]) % 8
		session.word(protocol.TailsOffset + 4*queue).Store(binary.NativeEndian.Uint32(data[i:]))
	}
}

// Whatever a program writes into its rings, the engine goes on and serves others.
func TestHostileRings(t *testing.T) {
	a, b, _ := connected(t, false)
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 4096)
	for range 200 {
		for i := range data {
			data[i] = byte(rng.Uint32() >> (rng.Uint32() % 8)) // small values, too
		}
		scribble(a, data)
		require.NoError(t, a.engine.do(func(*transport.Endpoint) {}))
	}
	a.close()
	c, d := dial(t, a.engine).endpoint(typeRC, 0), b.client.endpoint(typeRC, 0)
	c.connect(d)
	d.connect(c)
	c.qp.put(c.qp.Send, protocol.WQE{Elements: 1, RemoteAddr: d.addr(0), RKey: d.keys.RKey,
		Flags: sendSignaled}, c.sge(0, 8))
	require.Zero(t, c.cq.poll(t).Status)
}

func FuzzRings(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 3, 255, 255})
	e := openEngine(f, "null:")
	f.Fuzz(func(t *testing.T, data []byte) {
		c := dial(t, e)
		o := c.endpoint(typeRC, 0)
		scribble(o, data)
		require.NoError(t, e.do(func(*transport.Endpoint) {}))
		c.close()
	})
}

func FuzzRequests(f *testing.F) {
	e := openEngine(f, "null:")
	for op := protocol.OpHello; op <= protocol.OpDestroyAH; op++ {
		m, err := protocol.Append(nil, protocol.Header{Op: op},
			&protocol.QPAttr{Handle: 3, Mask: 1})
		require.NoError(f, err)
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, m []byte) {
		if len(m) == 0 || len(m) > protocol.MaxMessage {
			return // the end of the session, or more than the reply's reader takes
		}
		c := dial(t, e)
		c.endpoint(typeRC, 0)
		_, _, fds := c.raw(m)
		closeAll(fds)
		var port protocol.Port
		c.must(protocol.OpQueryPort, nil, &port)
		c.close()
	})
}
