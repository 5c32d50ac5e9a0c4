package engine

import (
	"encoding/binary"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// client does what libibverbs.so.1 does, in Go.
type client struct {
	t       testing.TB
	engine  *Engine
	socket  int
	events  int
	session []byte
	device  protocol.Device
}

func openEngine(t testing.TB, url string) *Engine {
	e, err := Open(url, goroce.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// pair returns clients of two engines whose ports are connected.
func pair(t testing.TB) (a, b *client) {
	url := "loop:" + t.Name()
	return dial(t, openEngine(t, url)), dial(t, openEngine(t, url))
}

// connection returns a client without a session.
func connection(t testing.TB, e *Engine) *client {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, e.Serve(ends[1], Local{}))
	c := &client{t: t, engine: e, socket: ends[0], events: -1}
	t.Cleanup(c.close)
	return c
}

func dial(t testing.TB, e *Engine) *client {
	c := connection(t, e)
	c.hello()
	return c
}

// hello begins the session.
func (c *client) hello() {
	t := c.t
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	c.events = ends[0]
	errno, fds := c.call(protocol.OpHello, &protocol.Hello{Version: protocol.Version}, &c.device,
		ends[1])
	require.Zero(t, errno)
	require.Len(t, fds, 2)
	_ = unix.Close(ends[1])
	c.session = c.mmap(fds[0], protocol.SessionSize)
	_ = unix.Close(fds[1])
}

func (c *client) close() {
	if c.socket >= 0 {
		_ = unix.Close(c.socket)
	}
	if c.events >= 0 {
		_ = unix.Close(c.events)
	}
	c.socket, c.events = -1, -1
}

func (c *client) mmap(fd, size int) []byte {
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(c.t, err)
	require.NoError(c.t, unix.Close(fd))
	c.t.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem
}

// raw sends a message and returns the reply.
func (c *client) raw(message []byte, fds ...int) (h protocol.Header, body []byte, in []int) {
	require.NoError(c.t, send(c.socket, message, fds))
	reply := make([]byte, protocol.MaxMessage)
	n, in, err := receive(c.socket, reply)
	require.NoError(c.t, err)
	h, body, err = protocol.ParseHeader(reply[:n])
	require.NoError(c.t, err)
	return h, body, in
}

// call makes a request and decodes its reply.
func (c *client) call(op protocol.Op, body, reply any, fds ...int) (unix.Errno, []int) {
	message, err := protocol.Append(nil, protocol.Header{Op: op}, body)
	require.NoError(c.t, err)
	h, answer, in := c.raw(message, fds...)
	require.Equal(c.t, op, h.Op)
	if h.Error == 0 && reply != nil {
		_, err := binary.Decode(answer, binary.NativeEndian, reply)
		require.NoError(c.t, err)
	}
	return unix.Errno(h.Error), in
}

func (c *client) must(op protocol.Op, body, reply any, fds ...int) []int {
	errno, in := c.call(op, body, reply, fds...)
	require.Zero(c.t, errno, "operation %d: %v", op, errno)
	return in
}

// testCQ is a completion queue as a program sees it.
type testCQ struct {
	protocol.CQ
	memory []byte
	head   uint32
}

func (c *client) createCQ(depth, channel uint32) *testCQ {
	q := &testCQ{}
	fds := c.must(protocol.OpCreateCQ, &protocol.CreateCQ{Depth: depth, Channel: channel,
		Cookie: 77}, &q.CQ)
	require.Len(c.t, fds, 1)
	q.memory = c.mmap(fds[0], cqSize(int(q.Entries)))
	return q
}

// poll waits for a completion.
func (q *testCQ) poll(t testing.TB) protocol.CQE {
	m := &shared{bytes: q.memory}
	e := &m.cqes(int(q.Entries))[q.head&(q.Entries-1)]
	sequence := m.word(int(uintptr(unsafe.Pointer(&e.Sequence)) -
		uintptr(unsafe.Pointer(&q.memory[0]))))
	require.Eventually(t, func() bool { return sequence.Load() == q.head+1 }, 10*time.Second,
		20*time.Microsecond)
	q.head++
	m.word(0).Store(q.head)
	return *e
}

func (q *testCQ) arm(how uint32) { (&shared{bytes: q.memory}).word(4).Store(how) }

// testQP is a queue pair as a program sees it.
type testQP struct {
	protocol.QP
	c      *client
	memory []byte
	tails  map[uint32]uint32
}

func (c *client) createQP(r protocol.CreateQP) *testQP {
	q := &testQP{c: c, tails: map[uint32]uint32{}}
	fds := c.must(protocol.OpCreateQP, &r, &q.QP)
	require.Len(c.t, fds, 1)
	end := func(r protocol.Ring) int { return int(r.Offset + r.Entries*r.Stride) }
	q.memory = c.mmap(fds[0], max(end(q.Send), end(q.Recv)))
	return q
}

// put writes a request into a ring.
func (q *testQP) put(r protocol.Ring, head any, body ...any) {
	tail := q.tails[r.Queue]
	slot := q.memory[r.Offset+tail%r.Entries*r.Stride:][:0:r.Stride]
	for _, part := range append([]any{head}, body...) {
		var err error
		slot, err = binary.Append(slot, binary.NativeEndian, part)
		require.NoError(q.c.t, err)
	}
	q.tails[r.Queue] = tail + 1
	(&shared{bytes: q.c.session}).word(protocol.TailsOffset + 4*int(r.Queue)).Store(tail + 1)
}

// endpoint is a queue pair with what it needs.
type endpoint struct {
	*client
	pd, mr uint32
	keys   protocol.MR
	buffer []byte
	cq     *testCQ
	qp     *testQP
}

func (c *client) endpoint(kind, channel uint32) *endpoint {
	o := &endpoint{client: c}
	var h protocol.Handle
	c.must(protocol.OpAllocPD, nil, &h)
	o.pd = h.Handle
	buffer, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(c.t, err)
	o.buffer = buffer
	c.must(protocol.OpRegMR, &protocol.RegMR{Addr: o.addr(0), IOVA: o.addr(0),
		Length: uint64(len(buffer)), PD: o.pd, Access: 0xf}, &o.keys)
	o.mr = o.keys.Handle
	o.cq = c.createCQ(64, channel)
	o.qp = c.createQP(protocol.CreateQP{Type: kind, PD: o.pd, SendCQ: o.cq.Handle,
		RecvCQ: o.cq.Handle, MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 2, MaxRecvSGE: 2,
		MaxInline: 64, Cookie: 99})
	return o
}

func (o *endpoint) addr(offset int) uint64 {
	return uint64(uintptr(unsafe.Pointer(&o.buffer[offset])))
}

func (o *endpoint) sge(offset, n int) protocol.SGE {
	return protocol.SGE{Addr: o.addr(offset), Length: uint32(n), LKey: o.keys.LKey}
}

// connect brings an RC queue pair to RTS.
func (o *endpoint) connect(peer *endpoint) {
	a := protocol.QPAttr{Handle: o.qp.Handle, PortNum: 1, Access: 0xf, MTU: 3,
		DestQPN: peer.qp.Number, MaxRdAtomic: 1, MaxDestRdAtomic: 1, MinRNRTimer: 12, Timeout: 14,
		RetryCount: 7, RNRRetry: 7,
		Path: protocol.Path{DGID: peer.device.GIDs[0], IsGlobal: 1, HopLimit: 64, Port: 1}}
	for _, step := range []struct {
		state transport.State
		mask  uint32
	}{{transport.Init, initPort | attrAccess}, {transport.ReadyToReceive, rcRTR},
		{transport.ReadyToSend, rcRTS}} {
		a.State, a.Mask = uint32(step.state), step.mask|attrState
		o.must(protocol.OpModifyQP, &a, nil)
	}
}
