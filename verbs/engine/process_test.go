package engine

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// daemonEngine is an engine whose programs reach each other alone.
func daemonEngine(t testing.TB) *Engine {
	e, err := open("loop:"+t.Name(), goroce.Options{}, true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// serveProcess returns a client whose memory the engine does not share, without a session.
func serveProcess(t testing.TB, e *Engine, pidfd int) *client {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, e.ServeProcess(ends[1], pidfd))
	c := &client{t: t, engine: e, socket: ends[0], events: -1}
	t.Cleanup(c.close)
	return c
}

func (c *client) share(path string, flags int) unix.Errno {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	require.NoError(c.t, err)
	defer func() { _ = unix.Close(fd) }()
	errno, _ := c.call(protocol.OpShareMemory, nil, nil, fd)
	return errno
}

// dialProcess begins a session of a program of a daemon.
func dialProcess(t testing.TB, e *Engine) *client {
	c := serveProcess(t, e, -1)
	c.hello()
	require.Zero(t, c.share("/proc/self/mem", unix.O_RDWR))
	return c
}

func connectedProcesses(t testing.TB) (a, b *endpoint) {
	e := daemonEngine(t)
	a, b = dialProcess(t, e).endpoint(typeRC, 0), dialProcess(t, e).endpoint(typeRC, 0)
	a.connect(b)
	b.connect(a)
	return a, b
}

// Two programs of one engine exchange messages, whose memory it copies.
func TestProcesses(t *testing.T) {
	a, b := connectedProcesses(t)
	copy(a.buffer, "hello, other process")
	b.qp.put(b.qp.Recv, protocol.RQE{Elements: 1}, b.sge(100, 200))
	a.qp.put(a.qp.Send, protocol.WQE{Elements: 1, Opcode: 2, Flags: sendSignaled}, a.sge(0, 20))
	require.Zero(t, a.cq.poll(t).Status)
	require.Zero(t, b.cq.poll(t).Status)
	require.Equal(t, "hello, other process", string(b.buffer[100:120]))

	w := protocol.WQE{RemoteAddr: b.addr(512), RKey: b.keys.RKey, Flags: sendSignaled, Elements: 1}
	a.qp.put(a.qp.Send, w, a.sge(0, 7680))
	require.Zero(t, a.cq.poll(t).Status)
	require.Equal(t, a.buffer[:7680], b.buffer[512:8192])
}

// Memory that a program has unmapped ends requests with an error.
func TestUnmappedMemory(t *testing.T) {
	const locProtErr, remAccessErr = 4, 10
	for _, remote := range []bool{false, true} {
		a, b := connectedProcesses(t)
		w := protocol.WQE{RemoteAddr: b.addr(0), RKey: b.keys.RKey, Flags: sendSignaled,
			Elements: 1}
		element, gone, want := a.sge(0, 8192), a.buffer, uint8(locProtErr)
		if remote {
			gone, want = b.buffer, remAccessErr
		}
		require.NoError(t, unix.Munmap(gone))
		a.qp.put(a.qp.Send, w, element)
		require.Equal(t, want, a.cq.poll(t).Status)
	}
}

// A program has the objects and keys of its own session alone.
func TestSessionsAreApart(t *testing.T) {
	a, b := connectedProcesses(t)
	for op, body := range map[protocol.Op]any{
		protocol.OpDestroyQP: &protocol.Handle{Handle: 1 << 16},
		protocol.OpRegMR:     &protocol.RegMR{PD: 1 << 16, Addr: a.addr(0), Length: 8},
	} {
		errno, _ := a.call(op, body, nil)
		require.Equal(t, unix.EINVAL, errno, op)
	}
	stolen := a.sge(0, 8)
	stolen.LKey = b.keys.LKey
	a.qp.put(a.qp.Send, protocol.WQE{RemoteAddr: b.addr(0), RKey: b.keys.RKey, Elements: 1,
		Flags: sendSignaled}, stolen)
	require.EqualValues(t, transport.StatusLocProtErr, a.cq.poll(t).Status)
}

func TestShareMemory(t *testing.T) {
	e := daemonEngine(t)
	c := serveProcess(t, e, -1)
	c.hello()
	var h protocol.Handle
	c.must(protocol.OpAllocPD, nil, &h)
	reg := &protocol.RegMR{PD: h.Handle, Addr: 1 << 20, Length: 4096}
	errno, _ := c.call(protocol.OpRegMR, reg, nil)
	require.Equal(t, unix.EINVAL, errno, "before its memory is shared")
	file := t.TempDir() + "/mem"
	require.NoError(t, os.WriteFile(file, make([]byte, 8192), 0o600))
	require.Equal(t, unix.EINVAL, c.share(file, unix.O_RDWR), "any file")
	require.Equal(t, unix.EINVAL, c.share("/proc/self/status", unix.O_RDONLY))
	require.Equal(t, unix.EINVAL, c.share("/proc/self/mem", unix.O_RDONLY))
	require.Zero(t, c.share("/proc/self/mem", unix.O_RDWR))
	require.Equal(t, unix.EINVAL, c.share("/proc/self/mem", unix.O_RDWR), "twice")
	errno, _ = c.call(protocol.OpRegMR, reg, nil)
	require.Zero(t, errno)
	reg.Addr = 1<<64 - 4096
	errno, _ = c.call(protocol.OpRegMR, reg, nil)
	require.Equal(t, unix.EFAULT, errno)

	local := dial(t, e)
	require.Equal(t, unix.EINVAL, local.share("/proc/self/mem", unix.O_RDWR), "of this process")
}

// A session leaves nothing behind, and ends with its process even if its socket is still open.
func TestSessionEnds(t *testing.T) {
	e := daemonEngine(t)
	sleep, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{})
	require.NoError(t, err)
	pidfd, err := unix.PidfdOpen(sleep.Pid, 0)
	require.NoError(t, err)
	c := serveProcess(t, e, pidfd)
	c.hello()
	require.Zero(t, c.share("/proc/self/mem", unix.O_RDWR))
	c.endpoint(typeRC, 0)
	require.Equal(t, 1, e.Sessions())
	require.NotZero(t, e.sharedCount.Load())
	require.NoError(t, sleep.Kill())
	_, err = sleep.Wait()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return e.Sessions() == 0 }, 5*time.Second,
		time.Millisecond)
	require.Zero(t, e.sharedCount.Load())
	require.NoError(t, e.do(func(ep *transport.Endpoint) {
		require.Empty(t, e.attached)
		require.Empty(t, e.cqs)
	}))
}

// A session that ends disconnects its connections with others of the engine.
func TestSessionEndDisconnects(t *testing.T) {
	e := daemonEngine(t)
	a, b := newCMClient(dialProcess(t, e)), newCMClient(dialProcess(t, e))
	connectCMPair(a, b)
	b.client.close()
	a.event(cmDisconnected)
}
