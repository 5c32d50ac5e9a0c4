package goroce

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
)

// connected returns the two ends of a connection between new hosts.
func connected(t *testing.T) (client, server *Conn) {
	a, b := openPair(t, t.Name())
	return dialed(t, a, b)
}

// register registers n bytes.
func register(t *testing.T, c *Conn, n int, rights ...transport.Access) *Memory {
	m, err := c.Register(make([]byte, n), rights...)
	require.NoError(t, err)
	return m
}

func TestOneSidedOperations(t *testing.T) {
	client, server := connected(t)
	ctx := t.Context()
	theirs, mine := register(t, server, 1<<20), register(t, client, 1<<20)

	for i := range mine.Bytes() {
		mine.Bytes()[i] = byte(i * 7)
	}
	require.NoError(t, client.Write(ctx, mine.Slice(100, 500_000),
		theirs.Remote().Slice(3, 500_000)))
	require.NoError(t, client.WriteImm(ctx, mine.Slice(0, 3), theirs.Remote(), 0xfeedface))
	m, err := server.RecvMsg(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, Message{Len: 3, Imm: 0xfeedface, WithImm: true, Written: true}, m)
	require.Equal(t, mine.Slice(0, 3).Bytes(), theirs.Slice(0, 3).Bytes())
	require.Equal(t, mine.Slice(100, 500_000).Bytes(), theirs.Slice(3, 500_000).Bytes())

	clear(mine.Bytes())
	require.NoError(t, client.Read(ctx, mine.All(), theirs.Remote()))
	require.Equal(t, theirs.Bytes(), mine.Bytes())

	counter := register(t, server, 16)
	for i := range uint64(300) { // more than there are results
		was, err := client.FetchAdd(ctx, counter.Remote().Slice(8, 8), 3)
		require.NoError(t, err)
		require.Equal(t, 3*i, was)
	}
	was, err := client.CompareSwap(ctx, counter.Remote().Slice(8, 8), 900, 1)
	require.NoError(t, err)
	require.Equal(t, uint64(900), was)
	was, err = client.CompareSwap(ctx, counter.Remote().Slice(8, 8), 900, 2)
	require.NoError(t, err)
	require.Equal(t, uint64(1), was)

	require.NoError(t, mine.Deregister())
	require.NoError(t, mine.Deregister())
	require.ErrorIs(t, client.Read(ctx, mine.All(), theirs.Remote()), transport.ErrInvalid)
	require.NoError(t, client.Err())
}

func TestMessagesWithImmediateData(t *testing.T) {
	client, server := connected(t)
	ctx := t.Context()
	require.NoError(t, client.SendMsg(ctx, []byte("hello"), 7))
	require.NoError(t, client.Send(ctx, []byte("plain")))
	require.NoError(t, client.SendMsg(ctx, []byte("too long"), 8))
	buf := make([]byte, 5)
	m, err := server.RecvMsg(ctx, buf)
	require.NoError(t, err)
	require.Equal(t, Message{Len: 5, Imm: 7, WithImm: true}, m)
	require.Equal(t, "hello", string(buf))
	m, err = server.RecvMsg(ctx, buf)
	require.NoError(t, err)
	require.Equal(t, Message{Len: 5}, m)
	m, err = server.RecvMsg(ctx, buf)
	require.ErrorIs(t, err, io.ErrShortBuffer)
	require.Equal(t, Message{Len: 8, Imm: 8, WithImm: true}, m)
	require.Equal(t, "too l", string(buf))
}

func TestReceiveByReference(t *testing.T) {
	client, server := connected(t)
	ctx := t.Context()
	for i := range slots {
		require.NoError(t, client.Send(ctx, []byte{byte(i), 1}))
	}
	var held []Message
	for i := range slots {
		m, err := server.RecvBuf(ctx)
		require.NoError(t, err)
		require.Equal(t, []byte{byte(i), 1}, m.Bytes())
		held = append(held, m)
	}
	require.NoError(t, client.Send(ctx, []byte("waits for a buffer")))
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err := server.RecvBuf(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for i, m := range held {
		require.Equal(t, []byte{byte(i), 1}, m.Bytes())
		require.NoError(t, m.Release())
		require.ErrorIs(t, m.Release(), transport.ErrInvalid)
		require.Nil(t, m.Bytes())
	}
	m, err := server.RecvBuf(ctx)
	require.NoError(t, err)
	require.Equal(t, "waits for a buffer", string(m.Bytes()))
	require.ErrorIs(t, Message{}.Release(), transport.ErrInvalid)
}

func TestPostManyOperations(t *testing.T) {
	client, server := connected(t)
	ctx := t.Context()
	const goroutines, each, places = 8, 2000, 32
	const size = goroutines * places * 8
	theirs, mine := register(t, server, size), register(t, client, size)
	sum := register(t, server, 8)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			q, err := NewCompletions(places)
			assert.NoError(t, err)
			next := uint64(0)
			take := func() {
				c, err := q.Next(ctx)
				assert.NoError(t, err)
				assert.NoError(t, c.Err)
				assert.Equal(t, next, c.ID)
				assert.Same(t, client, c.Conn)
				next++
			}
			for i := range uint64(each) {
				at := (g*places + int(i%places)) * 8
				r := Request{ID: i, Op: transport.OpWrite, Local: mine.Slice(at, 8),
					Remote: theirs.Remote().Slice(at, 8)}
				if i%3 == 2 {
					r = Request{ID: i, Op: transport.OpFetchAdd, Remote: sum.Remote(), Add: 1}
				}
				err := client.Post(q, r)
				if errors.Is(err, transport.ErrQueueFull) {
					take()
					err = client.Post(q, r)
				}
				assert.NoError(t, err)
			}
			for q.Pending() > 0 {
				take()
			}
			assert.Equal(t, uint64(each), next)
		})
	}
	all.Wait()
	was, err := client.FetchAdd(ctx, sum.Remote(), 0)
	require.NoError(t, err)
	require.Equal(t, uint64(goroutines*(each/3)), was)
}

// Every misuse is an error with a reason, and does not end the connection.
func TestMisuseOfOperations(t *testing.T) {
	client, server := connected(t)
	a, b := openPair(t, t.Name()+"-other")
	other, _ := dialed(t, a, b)
	ctx := t.Context()
	theirs, mine := register(t, server, 100), register(t, client, 100)
	foreign, gone := register(t, other, 100), register(t, client, 100)
	require.NoError(t, gone.Deregister())
	ended, cancel := context.WithCancel(ctx)
	cancel()
	q, err := NewCompletions(1)
	require.NoError(t, err)
	for _, x := range []struct {
		name string
		do   func() error
		want error
	}{
		{"local memory out of bounds",
			func() error { return client.Write(ctx, mine.Slice(90, 11), theirs.Remote()) }, nil},
		{"negative offset",
			func() error { return client.Write(ctx, mine.Slice(-1, 11), theirs.Remote()) }, nil},
		{"negative length",
			func() error { return client.Write(ctx, mine.Slice(0, -1), theirs.Remote()) }, nil},
		{"remote memory out of bounds",
			func() error { return client.Write(ctx, mine.All(), theirs.Remote().Slice(1, 99)) },
			nil},
		{"slice of remote memory out of bounds",
			func() error { return client.Read(ctx, mine.All(), theirs.Remote().Slice(1, 100)) },
			nil},
		{"memory of another connection",
			func() error { return client.Write(ctx, foreign.All(), theirs.Remote()) }, nil},
		{"remote handle of another connection",
			func() error { return client.Write(ctx, mine.All(), foreign.Remote()) }, nil},
		{"own handle",
			func() error { return client.Write(ctx, mine.All(), mine.Remote()) }, nil},
		{"no local memory", func() error {
			return client.Write(ctx, Local{n: 1}, theirs.Remote())
		}, nil},
		{"deregistered",
			func() error { return client.Write(ctx, gone.All(), theirs.Remote()) }, nil},
		{"unaligned atomic", func() error {
			_, err := client.FetchAdd(ctx, theirs.Remote().Slice(4, 8), 1)
			return err
		}, nil},
		{"short atomic", func() error {
			_, err := client.CompareSwap(ctx, theirs.Remote().Slice(0, 7), 1, 2)
			return err
		}, nil},
		{"context done",
			func() error { return client.Write(ended, mine.All(), theirs.Remote()) },
			context.Canceled},
		{"operation of a receive",
			func() error { return client.Post(q, Request{Op: transport.OpRecv}) }, nil},
		{"no such operation", func() error { return client.Post(q, Request{Op: 200}) }, nil},
		{"long message", func() error {
			long := register(t, client, int(MaxMessage)+1)
			return client.Post(q, Request{Op: transport.OpSend, Local: long.All()})
		}, nil},
		{"no places", func() error { _, err := NewCompletions(0); return err }, nil},
		{"not a handle",
			func() error { return new(Remote).UnmarshalBinary(make([]byte, 23)) }, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			want := x.want
			if want == nil {
				want = transport.ErrInvalid
			}
			err := x.do()
			require.ErrorIs(t, err, want)
			if op, is := errors.AsType[*OpError](err); is {
				require.True(t, op.Withdrawn)
				require.Equal(t, client.RemoteAddr(), op.Peer)
			}
		})
	}
	require.NoError(t, client.Post(q, Request{Op: transport.OpSend}))
	require.ErrorIs(t, client.Post(q, Request{Op: transport.OpSend}), transport.ErrQueueFull)
	require.Zero(t, server.w.requests.Len())
	require.NoError(t, client.Flush(ctx))
	require.NoError(t, client.Write(ctx, mine.All(), theirs.Remote()))
	require.NoError(t, client.Err())
}

// A peer that refuses an operation ends the connection; the error says which and why.
func TestRefusedByThePeer(t *testing.T) {
	client, server := connected(t)
	ctx := t.Context()
	readOnly, mine := register(t, server, 8, transport.RemoteRead), register(t, client, 8)
	require.NoError(t, client.Read(ctx, mine.All(), readOnly.Remote()))
	err := client.Write(ctx, mine.All(), readOnly.Remote())
	op, is := errors.AsType[*OpError](err)
	require.True(t, is, "%v", err)
	require.Equal(t, transport.OpWrite, op.Op)
	require.Equal(t, transport.StatusRemAccessErr, op.Status)
	require.Equal(t, transport.Errored, op.State)
	require.False(t, op.Withdrawn)
	require.ErrorIs(t, err, transport.StatusRemAccessErr)
	require.ErrorIs(t, client.Err(), transport.StatusRemAccessErr)
	err = client.Write(ctx, mine.All(), readOnly.Remote())
	require.ErrorIs(t, err, transport.StatusRemAccessErr)
}

// Whatever ends the connection ends its operations.
func TestOperationsEndWithTheConnection(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, a *Host, c *Conn) error{
		"abort":      func(t *testing.T, a *Host, c *Conn) error { return c.Abort() },
		"host close": func(t *testing.T, a *Host, c *Conn) error { return a.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := openPair(t, t.Name())
			client, server := dialed(t, a, b)
			theirs, mine := register(t, server, 8), register(t, client, 8)
			q, err := NewCompletions(1000)
			require.NoError(t, err)
			release := block(t, b)
			defer release()
			posted := 0
			for ; posted < 500; posted++ { // more than the send queue has room for
				require.NoError(t, client.Post(q, Request{Op: transport.OpWrite, ID: uint64(posted),
					Local: mine.All(), Remote: theirs.Remote()}))
			}
			waiting := make(chan error)
			go func() {
				waiting <- client.Read(context.Background(), mine.All(), theirs.Remote())
			}()
			time.Sleep(10 * time.Millisecond)
			require.ErrorIs(t, mine.Deregister(), transport.ErrBusy)
			require.NoError(t, end(t, a, client))
			require.ErrorIs(t, <-waiting, ErrClosed)
			for range posted {
				c, err := q.Next(t.Context())
				require.NoError(t, err)
				require.ErrorIs(t, c.Err, ErrClosed)
			}
			require.ErrorIs(t, client.Write(t.Context(), mine.All(), theirs.Remote()), ErrClosed)
			require.ErrorIs(t, client.Post(q, Request{}), ErrClosed)
			require.NoError(t, mine.Deregister())
			_, err = client.Register(make([]byte, 8))
			require.ErrorIs(t, err, ErrClosed)
		})
	}
}

// block makes a host's polling core stop until release is called.
func block(t *testing.T, h *Host) (release func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		_ = h.Do(0, func(*transport.Endpoint) { close(stopped); <-stop })
	}()
	<-stopped
	return sync.OnceFunc(func() { close(stop) })
}

// A context withdraws what is not in the send queue; the rest may have been executed.
func TestContextWithdraws(t *testing.T) {
	a, b := openPair(t, t.Name())
	client, server := dialed(t, a, b)
	counter := register(t, server, 8).Remote()
	release := block(t, b)
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	const calls = 2 * sendDepth
	var mu sync.Mutex
	withdrawn, left := 0, 0
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			_, err := client.FetchAdd(short, counter, 1)
			assert.ErrorIs(t, err, context.Canceled)
			op, is := errors.AsType[*OpError](err)
			assert.True(t, is)
			mu.Lock()
			defer mu.Unlock()
			if op.Withdrawn {
				withdrawn++
			} else {
				left++
			}
		})
	}
	require.Eventually(t, func() (begun bool) {
		require.NoError(t, a.Do(0, func(*transport.Endpoint) {
			begun = client.posted.Len()+client.waiting.Len() == calls
		}))
		return begun
	}, 20*time.Second, time.Millisecond)
	cancel()
	all.Wait()
	release()
	require.NoError(t, client.Flush(t.Context()))
	require.Equal(t, sendDepth, left)
	require.Equal(t, calls-sendDepth, withdrawn)
	was, err := client.FetchAdd(t.Context(), counter, 0)
	require.NoError(t, err)
	require.Equal(t, uint64(left), was)
}

// On a polling core a call that would wait for it returns an error instead.
func TestBlockingCallsOnThePollingCore(t *testing.T) {
	a, b := openPair(t, t.Name())
	client, server := dialed(t, a, b)
	theirs, mine := register(t, server, 8), register(t, client, 8)
	ctx, other := t.Context(), register(t, client, 8)
	var errs []error
	require.NoError(t, a.Do(0, func(*transport.Endpoint) {
		_, recv := client.Recv(ctx, nil)
		_, reg := client.Register(make([]byte, 8))
		q, _ := NewCompletions(1)
		_, next := q.Next(ctx)
		errs = []error{recv, reg, next, client.Write(ctx, mine.All(), theirs.Remote()),
			client.Close(), client.Abort(), a.Do(0, func(*transport.Endpoint) {}), a.Close(),
			other.Deregister()}
		for range slots {
			errs = append(errs, nil)
			require.NoError(t, client.Send(ctx, []byte("does not wait")))
		}
		errs = append(errs, client.Send(ctx, nil))
	}))
	for i, err := range errs {
		if err != nil || i < 9 {
			assert.ErrorIs(t, err, ErrOnCore, "call %d", i)
		}
	}
	require.Error(t, errs[len(errs)-1])
	require.NoError(t, client.Err())
}

// allocations returns how many allocations one call of f makes, in all goroutines together.
// testing.AllocsPerRun leaves the program one P, which the polling cores would contend for.
func allocations(calls uint64, f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / calls
}

func TestOperationsDoNotAllocate(t *testing.T) {
	client, server := connected(t)
	ctx := context.Background()
	theirs, mine := register(t, server, 64), register(t, client, 64)
	q, err := NewCompletions(8)
	require.NoError(t, err)
	var c [8]Completion
	buf := make([]byte, 64)
	for name, f := range map[string]func(){
		"write":    func() { assert.NoError(t, client.Write(ctx, mine.All(), theirs.Remote())) },
		"fetchadd": func() { _, _ = client.FetchAdd(ctx, theirs.Remote(), 1) },
		"post": func() {
			for q.Pending() == 8 {
				q.Poll(c[:])
			}
			assert.NoError(t, client.Post(q, Request{Op: transport.OpWrite, Local: mine.All(),
				Remote: theirs.Remote()}))
		},
		"message": func() {
			_ = client.Send(ctx, buf)
			_, _ = server.Recv(ctx, buf)
		},
	} {
		f()
		assert.Zero(t, allocations(2000, f), name)
	}
}

func FuzzRemote(f *testing.F) {
	b, err := Remote{Addr: 1 << 40, Len: 1 << 20, Key: 0xdeadbeef, QPN: 0x1234}.MarshalBinary()
	require.NoError(f, err)
	f.Add(b)
	f.Add(b[1:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Remote
		if r.UnmarshalBinary(b) == nil {
			again, err := r.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, b, again)
		}
	})
}
