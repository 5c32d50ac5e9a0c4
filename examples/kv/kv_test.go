package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
)

// open returns a host on an end of a loop port.
func open(t testing.TB, o goroce.Options) *goroce.Host {
	h, err := goroce.Open("loop:"+t.Name(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// newServer serves a store and returns the address of its handshake and the client's host.
func newServer(t testing.TB, entries int) (client, server *goroce.Host, addr string) {
	server, client = open(t, goroce.Options{}), open(t, goroce.Options{})
	s, err := NewServer(server, entries)
	require.NoError(t, err)
	l, err := server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return client, server, l.Addr().String()
}

func dial(t testing.TB, host *goroce.Host, addr string) *Client {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := Dial(ctx, host, addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestPutAndGet(t *testing.T) {
	host, _, addr := newServer(t, 1000)
	c := dial(t, host, addr)
	ctx := t.Context()
	for round := range 2 {
		for i := range 500 {
			require.NoError(t, c.Put(ctx, fmt.Append(nil, "k", i), fmt.Append(nil, i*(round+1))))
		}
		for i := range 500 {
			value, err := c.Get(ctx, fmt.Append(nil, "k", i))
			require.NoError(t, err, i)
			require.Equal(t, fmt.Sprint(i*(round+1)), string(value))
		}
	}
	_, err := c.Get(ctx, []byte("none"))
	require.ErrorIs(t, err, ErrNotFound)
	long := bytes.Repeat([]byte("v"), MaxEntry-1)
	require.NoError(t, c.Put(ctx, []byte("k"), long))
	value, err := c.Get(ctx, []byte("k"))
	require.NoError(t, err)
	require.Equal(t, long, value)
	require.NoError(t, c.Put(ctx, []byte("k"), nil))
	value, err = c.Get(ctx, []byte("k"))
	require.NoError(t, err)
	require.Empty(t, value)
}

func TestMisuse(t *testing.T) {
	host, server, addr := newServer(t, 10)
	c := dial(t, host, addr)
	ctx := t.Context()
	require.ErrorIs(t, c.Put(ctx, nil, []byte("v")), ErrTooLong)
	require.ErrorIs(t, c.Put(ctx, []byte("k"), make([]byte, MaxEntry)), ErrTooLong)
	_, err := c.Get(ctx, make([]byte, MaxEntry+1))
	require.ErrorIs(t, err, ErrTooLong)
	for i, err := 0, error(nil); !errors.Is(err, ErrFull); i++ {
		require.Less(t, i, 11, "more keys than places")
		err = c.Put(ctx, fmt.Append(nil, i), nil)
		require.True(t, err == nil || errors.Is(err, ErrFull), "%v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = c.Get(ended, []byte("k"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = NewServer(server, 0)
	require.ErrorContains(t, err, "store of 0 entries, want 1 to")
}

// Readers see the value before a PUT or the one after it, and nothing else.
func TestGetsDuringPuts(t *testing.T) {
	host, _, addr := newServer(t, 100)
	writer := dial(t, host, addr)
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 100) }
	require.NoError(t, writer.Put(t.Context(), []byte("k"), value(0)))
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		reader := dial(t, host, addr)
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v, err := reader.Get(context.Background(), []byte("k"))
				if err != nil || !bytes.Equal(v, value(int(v[0]))) {
					t.Errorf("%x, %v", v, err)
					return
				}
			}
		})
	}
	for i := range 2000 {
		require.NoError(t, writer.Put(t.Context(), []byte("k"), value(i)))
	}
	close(stop)
	all.Wait()
}

func TestManyClients(t *testing.T) {
	host, _, addr := newServer(t, 10_000)
	var all sync.WaitGroup
	for i := range 8 {
		c := dial(t, host, addr)
		for g := range 4 {
			all.Go(func() {
				for n := range 100 {
					key := fmt.Appendf(nil, "%d %d %d", i, g, n)
					if err := c.Put(t.Context(), key, key); err != nil {
						t.Error(err)
						return
					}
					if v, err := c.Get(t.Context(), key); err != nil || !bytes.Equal(v, key) {
						t.Errorf("%q, %v", v, err)
					}
				}
			})
		}
	}
	all.Wait()
}

func TestBatch(t *testing.T) {
	host, _, addr := newServer(t, 4000)
	c := dial(t, host, addr)
	var keys [][]byte
	for i := range 2000 {
		keys = append(keys, fmt.Append(nil, i))
		if i%2 == 0 {
			require.NoError(t, c.Put(t.Context(), keys[i], keys[i]))
		}
	}
	b, err := c.NewBatch()
	require.NoError(t, err)
	ended := 0
	each := func(tag int, value []byte, err error) {
		ended++
		if tag%2 == 0 {
			require.NoError(t, err)
			require.Equal(t, keys[tag], value)
		} else {
			require.ErrorIs(t, err, ErrNotFound)
		}
	}
	for i := 0; ended < len(keys); {
		for i < len(keys) {
			begun, err := b.Get(keys[i], i)
			require.NoError(t, err)
			if !begun {
				require.Equal(t, Flight, b.InFlight())
				break
			}
			i++
		}
		require.NoError(t, b.Wait(t.Context(), each))
	}
	require.Zero(t, b.InFlight())
}

// The end of the server is an error at its clients, whatever they wait for.
func TestServerEnds(t *testing.T) {
	host, server, addr := newServer(t, 10)
	c := dial(t, host, addr)
	require.NoError(t, c.Put(t.Context(), []byte("k"), nil))
	require.NoError(t, server.Close())
	require.Eventually(t, func() bool {
		return c.Put(t.Context(), []byte("k"), nil) != nil
	}, 5*time.Second, time.Millisecond)
	_, err := c.Get(t.Context(), []byte("k"))
	require.Error(t, err)
}

func TestTornSlot(t *testing.T) {
	bucket := make([]byte, bucketSize)
	slotOf(bucket, 0).set([]byte("k"), []byte("v"))
	value, where := find(bucket, []byte("k"))
	require.Equal(t, here, where)
	require.Equal(t, "v", string(value))
	for i := range slotSize {
		bucket[i]++
		_, where = find(bucket, []byte("k"))
		require.NotEqual(t, here, where, "byte %d", i)
		bucket[i]--
	}
}

// A version of which some bytes are old and some are new is never that of an unused slot.
func TestTornVersion(t *testing.T) {
	bucket := make([]byte, bucketSize)
	s := slotOf(bucket, 0)
	for range 255 {
		s.set([]byte("k"), []byte("v"))
	}
	low := s[versionAt]
	s.set([]byte("k"), []byte("v"))
	require.NotEqual(t, low, s[versionAt])
	require.Zero(t, s[versionAt])
	s[versionAt+1] = 0 // of 255, while the byte before is of 256
	_, where := find(bucket, []byte("k"))
	require.Equal(t, torn, where)
}

func FuzzSlot(f *testing.F) {
	bucket := make([]byte, bucketSize)
	slotOf(bucket, 0).set([]byte("k"), []byte("v"))
	f.Add(bucket)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == bucketSize {
			find(b, []byte("k"))
		}
		_, _, _ = parseWelcome(b)
	})
}

// A GET of a Batch allocates nothing.
func TestBatchDoesNotAllocate(t *testing.T) {
	host, _, addr := newServer(t, 10)
	c := dial(t, host, addr)
	key := []byte("k")
	require.NoError(t, c.Put(t.Context(), key, nil))
	b, err := c.NewBatch()
	require.NoError(t, err)
	gets := func(n int) {
		left := n
		each := func(int, []byte, error) { left-- }
		for begun := 0; left > 0; {
			for begun < n && b.InFlight() < 8 {
				_, _ = b.Get(key, 0)
				begun++
			}
			_ = b.Wait(context.Background(), each)
		}
	}
	gets(100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	gets(20_000)
	runtime.ReadMemStats(&after)
	require.Less(t, after.Mallocs-before.Mallocs, uint64(1000))
}

// A GET or PUT whose context ends leaves nothing taken for good.
func TestCancelledCallsDoNotLeak(t *testing.T) {
	host, _, addr := newServer(t, 1000)
	c := dial(t, host, addr)
	for i := range 500 {
		d := time.Duration(i) * time.Microsecond / 2
		ctx, cancel := context.WithTimeout(context.Background(), d)
		_, _ = c.Get(ctx, []byte("k"))
		_ = c.Put(ctx, []byte("k"), []byte("v"))
		cancel()
	}
	require.Eventually(t, func() bool { return len(c.reads) == Flight && len(c.puts) == requests },
		10*time.Second, time.Millisecond)
	require.NoError(t, c.Put(t.Context(), []byte("k"), []byte("last")))
	value, err := c.Get(t.Context(), []byte("k"))
	require.NoError(t, err)
	require.Equal(t, "last", string(value))
}
