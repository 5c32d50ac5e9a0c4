package goroce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// streamed returns the ends of a stream from a to b.
func streamed(a, b *Host) (client, server *Stream, err error) {
	l, err := b.ListenStream("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := a.DialStream(ctx, l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	s, err := l.Accept()
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c.(*Stream), s.(*Stream), nil
}

// newStreams returns the ends of a stream between two new hosts.
func newStreams(t *testing.T, o Options) (client, server *Stream) {
	var hosts [2]*Host
	for i := range hosts {
		h, err := Open("loop:"+t.Name(), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		hosts[i] = h
	}
	client, server, err := streamed(hosts[0], hosts[1])
	require.NoError(t, err)
	return client, server
}

// testNetConn runs the tests of net.Conn between two hosts.
func testNetConn(t *testing.T, a, b *Host) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		c, s, err := streamed(a, b)
		return c, s, func() {
			_ = c.Close()
			_ = s.Close()
		}, err
	})
}

func TestStreamIsANetConn(t *testing.T) {
	memif := "memif:" + t.TempDir() + "/s"
	for _, p := range []struct{ name, a, b string }{
		{"loop", "loop:netconn", "loop:netconn"},
		{"memif", memif, memif + ",client"},
	} {
		t.Run(p.name, func(t *testing.T) {
			a, err := Open(p.a, Options{Linger: 100 * units.Millisecond})
			require.NoError(t, err)
			defer a.Close()
			b, err := Open(p.b, Options{Linger: 100 * units.Millisecond})
			require.NoError(t, err)
			defer b.Close()
			testNetConn(t, a, b)
		})
	}
}

func TestStreamOverVeth(t *testing.T) {
	dpdktest.InNamespace(t, dpdktest.Test{Name: "NetConn", Run: func(t *testing.T) {
		command(t, "ip link add va mtu 9000 type veth peer name vb mtu 9000")
		command(t, "ip link set lo up")
		var hosts [2]*Host
		for i, name := range []string{"va", "vb"} {
			command(t, "ip link set "+name+" up")
			prefix := netip.MustParsePrefix(fmt.Sprintf("10.8.0.%d/24", 101+i))
			h, err := Open("af_packet:"+name, Options{Addrs: []netip.Prefix{prefix},
				Linger: 100 * units.Millisecond})
			require.NoError(t, err)
			defer h.Close()
			hosts[i] = h
		}
		testNetConn(t, hosts[0], hosts[1])
	}})
}

// What is written arrives, whatever the sizes of writes, reads and buffers, in both directions at
// once.
func TestStreamCarriesBytes(t *testing.T) {
	const total = 3_000_000
	for _, size := range []int{4096, 65_000, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			client, server := newStreams(t, Options{StreamBuffer: 4096})
			data := make([]byte, total)
			rng := rand.New(rand.NewPCG(seed, 1))
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			var all sync.WaitGroup
			for i, s := range []*Stream{client, server} {
				all.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(i)))
					for rest := data; len(rest) > 0; {
						n, err := s.Write(rest[:min(len(rest), 1+rng.IntN(size))])
						if err != nil {
							t.Error(err)
							return
						}
						rest = rest[n:]
					}
					if err := s.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				all.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(i)+10))
					var got []byte
					for buf := make([]byte, size); ; {
						n, err := s.Read(buf[:1+rng.IntN(size)])
						got = append(got, buf[:n]...)
						if err != nil {
							if err != io.EOF || !bytes.Equal(got, data) {
								t.Errorf("%d bytes of %d, and %v", len(got), total, err)
							}
							return
						}
					}
				})
			}
			all.Wait()
			require.NoError(t, client.Close())
			require.NoError(t, server.Close())
		})
	}
}

func TestStreamCopies(t *testing.T) {
	client, server := newStreams(t, Options{})
	data := bytes.Repeat([]byte("goroce "), 1_000_000)
	go func() {
		n, err := io.Copy(client, bytes.NewReader(data))
		if err != nil || n != int64(len(data)) {
			t.Error(n, err)
		}
		if err := client.CloseWrite(); err != nil {
			t.Error(err)
		}
	}()
	var got bytes.Buffer
	n, err := server.WriteTo(&got)
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	require.True(t, bytes.Equal(data, got.Bytes()))
	_, err = server.ReadFrom(io.LimitReader(bytes.NewReader(data), 100))
	require.NoError(t, err)
	require.NoError(t, server.Close())
	rest, err := io.ReadAll(client)
	require.NoError(t, err)
	require.Equal(t, data[:100], rest)
}

// One direction can end while the other goes on, for longer than what its buffer holds.
func TestStreamHalfClose(t *testing.T) {
	client, server := newStreams(t, Options{StreamBuffer: 4096})
	_, err := client.Write([]byte("request"))
	require.NoError(t, err)
	require.NoError(t, client.CloseWrite())
	_, err = client.Write([]byte("more"))
	require.ErrorIs(t, err, net.ErrClosed)
	request, err := io.ReadAll(server)
	require.NoError(t, err)
	require.Equal(t, "request", string(request))
	response := bytes.Repeat([]byte("x"), 100_000)
	go func() {
		_, err := server.Write(response)
		if err = errors.Join(err, server.Close()); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(client)
	require.NoError(t, err)
	require.Equal(t, response, got)
	require.NoError(t, client.Close())
}

// A reader that pauses stops the writer, and the peer's receive queue never runs out.
func TestSlowReader(t *testing.T) {
	client, server := newStreams(t, Options{StreamBuffer: 64 << 10})
	require.NoError(t, client.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	written := 0
	for p := make([]byte, 100); ; {
		n, err := client.Write(p)
		written += n
		if err != nil {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			break
		}
	}
	require.Equal(t, 128<<10, written, "the ring and the send buffer")
	require.NoError(t, client.SetWriteDeadline(time.Time{}))
	require.NoError(t, client.CloseWrite())
	n, err := io.Copy(io.Discard, server)
	require.NoError(t, err)
	require.EqualValues(t, written, n)
	for _, s := range []*Stream{client, server} {
		require.NoError(t, s.conn.w.do(func(ep *transport.Endpoint) {
			require.Zero(t, ep.Stats().RNRSent)
		}))
	}
}

func TestStreamEnds(t *testing.T) {
	for name, x := range map[string]struct {
		end         func(t *testing.T, client *Stream, host *Host)
		read, write error
	}{
		"close": {func(t *testing.T, c *Stream, _ *Host) { require.NoError(t, c.Close()) },
			io.EOF, syscall.EPIPE},
		"abort": {func(t *testing.T, c *Stream, _ *Host) {
			_, err := c.Write(make([]byte, 3<<20-100)) // more than the buffers hold
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.ErrorIs(t, c.Close(), os.ErrDeadlineExceeded)
		}, syscall.ECONNRESET, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := newStreams(t, Options{Linger: 50 * units.Millisecond})
			require.NoError(t, client.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
			waiting := make(chan error)
			go func() {
				_, err := io.Copy(io.Discard, struct{ io.Reader }{client})
				waiting <- err
			}()
			x.end(t, client, nil)
			require.ErrorIs(t, <-waiting, net.ErrClosed)
			_, err := client.Write([]byte("x"))
			require.ErrorIs(t, err, net.ErrClosed)
			require.ErrorIs(t, client.Close(), net.ErrClosed)
			require.ErrorIs(t, client.SetDeadline(time.Now()), net.ErrClosed)
			for err = nil; err == nil; {
				_, err = server.Read(make([]byte, 1<<20))
			}
			require.ErrorIs(t, err, x.read)
			require.Eventually(t, func() bool {
				_, err = server.Write(make([]byte, 1))
				return err != nil
			}, time.Second, time.Millisecond)
			require.ErrorIs(t, err, x.write)
		})
	}
}

// A stream's dialer at a listener for messages is refused with the reason, and the reverse.
func TestKindsOfConnectionsDoNotMix(t *testing.T) {
	a, b := openPair(t, t.Name())
	messages, err := b.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer messages.Close()
	streams, err := b.ListenStream("127.0.0.1:0")
	require.NoError(t, err)
	defer streams.Close()
	_, err = a.DialStream(t.Context(), messages.Addr().String())
	require.ErrorIs(t, err, connect.ErrRefused)
	require.ErrorContains(t, err, "the peer's connection is a stream, this side's is for messages")
	_, err = a.Dial(t.Context(), streams.Addr().String())
	require.ErrorIs(t, err, connect.ErrRefused)
	require.ErrorContains(t, err, "the peer's connection is for messages, this side's is a stream")
}

func TestStreamBufferIsChecked(t *testing.T) {
	for _, n := range []int64{-1, 4095, 256<<20 + 1} {
		_, err := Open("loop:"+t.Name(), Options{StreamBuffer: units.Bytes(n)})
		require.ErrorContains(t, err, "want 4096 to 268435456")
	}
}

// As with TCP, an attempt without a listener fails at once.
func TestDialStreamWithoutAListener(t *testing.T) {
	a, b := openPair(t, t.Name())
	l, err := b.ListenStream("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = a.DialStream(t.Context(), l.Addr().String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = a.DialStream(t.Context(), "nowhere")
	require.ErrorContains(t, err, "missing port in address")
	require.NoError(t, a.Close())
	_, err = a.DialStream(t.Context(), l.Addr().String())
	require.ErrorIs(t, err, ErrClosed)
}
