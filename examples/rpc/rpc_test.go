package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
)

const codeOfHandler = CodeUser + 7

// methods are those of the tests' servers.
var methods = map[string]Handler{
	"echo": func(_ context.Context, body []byte) ([]byte, error) { return body, nil },
	"wait": func(ctx context.Context, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
	"left": func(ctx context.Context, _ []byte) ([]byte, error) {
		deadline, has := ctx.Deadline()
		return fmt.Append(nil, has, " ", time.Until(deadline) > time.Minute), nil
	},
	"fail": func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no luck") },
	"typed": func(context.Context, []byte) ([]byte, error) {
		return nil, &Error{codeOfHandler, "x"}
	},
	"long": func(context.Context, []byte) ([]byte, error) { return make([]byte, MaxBody+1), nil },
}

func open(t testing.TB, name string, o goroce.Options) *goroce.Host {
	h, err := goroce.Open("loop:"+name, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// serve runs a server until stop is called.
func serve(t testing.TB, host *goroce.Host, at string) (s *Server, addr string, stop func()) {
	s, err := NewServer(methods)
	require.NoError(t, err)
	l, err := host.Listen(at)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = s.Serve(ctx, l)
		_ = l.Close()
		close(done)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return s, l.Addr().String(), stop
}

// connected returns a client and its server.
func connected(t testing.TB) (*Client, *Server) {
	a, b := open(t, t.Name(), goroce.Options{}), open(t, t.Name(), goroce.Options{})
	s, addr, _ := serve(t, b, "127.0.0.1:0")
	c, err := Dial(within(t, 10*time.Second), a, addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, s
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestCalls(t *testing.T) {
	c, _ := connected(t)
	ctx := within(t, 20*time.Second)
	for _, n := range []int{0, 1, 1000, MaxBody} {
		body := bytes.Repeat([]byte("b"), n)
		got, err := c.Call(ctx, "echo", body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, got), "%d bytes", n)
	}
	for name, code := range map[string]Code{"fail": CodeFailed, "typed": codeOfHandler,
		"long": CodeTooLong, "none": CodeNoMethod} {
		_, err := c.Call(ctx, name, nil)
		require.ErrorIs(t, err, &Error{Code: code}, name)
	}
	require.Zero(t, c.InFlight())
}

func TestConcurrentCalls(t *testing.T) {
	c, s := connected(t)
	ctx := within(t, 60*time.Second)
	var all sync.WaitGroup
	for g := range 1000 {
		all.Go(func() {
			for i := range 5 {
				body := fmt.Append(nil, g, i)
				got, err := c.Call(ctx, "echo", body)
				assert.NoError(t, err)
				assert.Equal(t, string(body), string(got))
			}
		})
	}
	all.Wait()
	require.Zero(t, c.InFlight())
	require.Eventually(t, func() bool { return s.Running() == 0 }, 5*time.Second, time.Millisecond)
}

// The deadline ends the handler too, and so does the caller's cancellation.
func TestDeadlines(t *testing.T) {
	c, s := connected(t)
	_, err := c.Call(within(t, 50*time.Millisecond), "wait", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, err := c.Call(ctx, "wait", nil)
			assert.ErrorIs(t, err, context.Canceled)
			failure, is := errors.AsType[*CallError](err)
			assert.True(t, is && failure.Sent, "%v", err)
		})
	}
	require.Eventually(t, func() bool { return s.Running() == 100 }, 10*time.Second,
		time.Millisecond)
	cancel()
	all.Wait()
	require.Zero(t, c.InFlight())
	require.Eventually(t, func() bool { return s.Running() == 0 }, 10*time.Second,
		time.Millisecond)
	got, err := c.Call(within(t, time.Hour), "left", nil)
	require.NoError(t, err)
	require.Equal(t, "true true", string(got))
	got, err = c.Call(context.Background(), "left", nil)
	require.NoError(t, err)
	require.Equal(t, "false false", string(got))
}

func TestMisuse(t *testing.T) {
	c, _ := connected(t)
	ctx := within(t, 10*time.Second)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, x := range map[string]struct {
		call func() error
		want error
	}{
		"no name": {func() error { _, err := c.Call(ctx, "", nil); return err }, ErrTooLong},
		"long name": {func() error {
			_, err := c.Call(ctx, string(make([]byte, MaxMethod+1)), nil)
			return err
		}, ErrTooLong},
		"long body": {func() error {
			_, err := c.Call(ctx, "echo", make([]byte, MaxBody+1))
			return err
		}, ErrTooLong},
		"context done": {func() error { _, err := c.Call(ended, "echo", nil); return err },
			context.Canceled},
	} {
		err := x.call()
		require.ErrorIs(t, err, x.want, name)
		failure, is := errors.AsType[*CallError](err)
		require.True(t, is && !failure.Sent, name)
	}
	_, err := NewServer(map[string]Handler{"nil": nil})
	require.ErrorContains(t, err, "want a name of 1 to 255 bytes and a handler")
	require.NoError(t, c.conn.SendMsg(ctx, []byte("not a request"), 1)) // the server hangs up
	require.Eventually(t, func() bool { return c.Err() != nil }, 10*time.Second, time.Millisecond)
	_, err = c.Call(ctx, "echo", nil)
	failure, is := errors.AsType[*CallError](err)
	require.True(t, is && !failure.Sent, "%v", err)
}

// A call in flight when the server ends may have been executed; later ones wait for its restart.
func TestServerRestarts(t *testing.T) {
	a, b := open(t, t.Name(), goroce.Options{}), open(t, t.Name(), goroce.Options{})
	s, addr, stop := serve(t, b, "127.0.0.1:0")
	r := NewRedialer(a, addr, Backoff{Longest: 50 * time.Millisecond})
	defer r.Close()
	ctx := within(t, 60*time.Second)
	_, err := r.Call(ctx, "echo", nil)
	require.NoError(t, err)
	inFlight := make(chan error)
	go func() { _, err := r.Call(ctx, "wait", nil); inFlight <- err }()
	require.Eventually(t, func() bool { return s.Running() == 1 }, 10*time.Second, time.Millisecond)
	stop()
	err = <-inFlight
	failure, is := errors.AsType[*CallError](err)
	require.True(t, is && failure.Sent || errors.Is(err, context.Canceled), "%v", err)
	noticed := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.client == nil || r.client.Err() != nil
	}
	require.Eventually(t, noticed, 10*time.Second, time.Millisecond)
	_, err = r.Call(within(t, 30*time.Millisecond), "echo", nil)
	failure, is = errors.AsType[*CallError](err)
	require.True(t, is && !failure.Sent, "%v", err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for range 3 {
		_, _, stop = serve(t, b, addr)
		_, err = r.Call(ctx, "echo", nil)
		require.NoError(t, err)
		stop()
		require.Eventually(t, noticed, 10*time.Second, time.Millisecond)
	}
	require.NoError(t, r.Close())
	_, err = r.Call(ctx, "echo", nil)
	require.ErrorIs(t, err, errClosed)
}

func TestPool(t *testing.T) {
	o := goroce.Options{Queues: 2}
	a, b := open(t, t.Name(), o), open(t, t.Name(), o)
	_, addr, _ := serve(t, b, "127.0.0.1:0")
	p := NewPool(a, addr, Backoff{})
	ctx := within(t, 60*time.Second)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			got, err := p.Call(ctx, "echo", fmt.Append(nil, i))
			assert.NoError(t, err)
			assert.Equal(t, fmt.Sprint(i), string(got))
		})
	}
	all.Wait()
	for _, c := range p.clients {
		require.NotNil(t, c.client)
	}
	require.NoError(t, p.Close())
}

func TestBackoff(t *testing.T) {
	b := Backoff{}
	for failures, longest := range map[int]time.Duration{1: 10 * time.Millisecond,
		2: 20 * time.Millisecond, 5: 160 * time.Millisecond, 1000: time.Second} {
		for range 100 {
			d := b.pause(failures)
			require.GreaterOrEqual(t, d, longest/2)
			require.LessOrEqual(t, d, longest)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(appendRequest(nil, "echo", 1000, []byte("body")))
	f.Add(appendCancel(nil))
	f.Add(appendResponse(nil, CodeFailed, []byte("why")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRequest(b); err == nil {
			require.Len(t, b, requestSize+len(r.name)+len(r.body))
		}
		if code, body, err := parseResponse(b); err == nil {
			require.Equal(t, b, appendResponse(nil, code, body))
		}
	})
}

func BenchmarkCall(b *testing.B) {
	c, _ := connected(b)
	body := make([]byte, 64)
	for _, flight := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("flight=%d", flight), func(b *testing.B) {
			b.ReportAllocs()
			var all sync.WaitGroup
			for g := range flight {
				all.Go(func() {
					for i := g; i < b.N; i += flight {
						if _, err := c.Call(context.Background(), "echo", body); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
