package goroce

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// queuePairs returns the number of a host's queue pairs.
func queuePairs(t testing.TB, h *Host) (n int) {
	require.NoError(t, h.Do(0, func(ep *transport.Endpoint) { n = ep.Stats().Holdings.QueuePairs }))
	return n
}

// call connects by TCP from the i-th source and sends in the background.
func (w *simWorld) call(t testing.TB, source int, says []byte) net.Conn {
	t.Helper()
	tcp, err := w.tcp.dial(t.Context(),
		netip.AddrFrom4([4]byte{192, 168, byte(source >> 8), byte(source)}), "server:1")
	require.NoError(t, err)
	go func() { _, _ = tcp.Write(says) }()
	synctest.Wait()
	return tcp
}

// validHello returns a valid client's Hello.
func validHello(t testing.TB) []byte {
	b, err := (&connect.Hello{Version: connect.Version, Addr: netip.MustParseAddr("10.0.0.1"),
		PathMTU: 1024, QPs: []connect.QP{{Num: 17}}}).Encode()
	require.NoError(t, err)
	return b
}

// An incomplete handshake ends with the timeout and leaves no resources behind.
func TestHandshakeTimeout(t *testing.T) {
	for _, c := range []struct {
		name       string
		says       func(hello []byte) []byte
		reads      bool
		queuePairs int // during the handshake
	}{
		{"nothing", func([]byte) []byte { return nil }, true, 0},
		{"half a header", func(hello []byte) []byte { return hello[:5] }, true, 0},
		{"half a Hello", func(hello []byte) []byte { return hello[:len(hello)-1] }, true, 0},
		{"a Hello, and does not read ours", func(hello []byte) []byte { return hello }, false, 1},
		{"a Hello, and is never ready", func(hello []byte) []byte { return hello }, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSimWorld(t, 1)
				l := w.listen(1, "server:1")
				tcp := w.call(t, 7, c.says(validHello(t)))
				if c.reads {
					go func() { _, _ = io.Copy(io.Discard, tcp) }()
				}
				time.Sleep(5*time.Second - time.Millisecond)
				require.Equal(t, c.queuePairs, queuePairs(t, w.hosts[1]))
				require.Zero(t, l.Counters())
				time.Sleep(2 * time.Millisecond)
				require.Zero(t, queuePairs(t, w.hosts[1]))
				require.Equal(t, ListenerCounters{Failed: 1}, l.Counters())
				_, err := tcp.Write([]byte("x"))
				require.Error(t, err, "it was hung up on")
			})
		})
	}
}

// Any number of silent clients hold at most MaxHandshakes places, those of one source at most
// MaxHandshakesFrom, and keep no other client out.
func TestFloodOfSilentClients(t *testing.T) {
	for _, c := range []struct {
		name    string
		source  func(i int) int
		waiting int // at the end
	}{
		{"one source", func(int) int { return 1 }, MaxHandshakesFrom},
		{"many sources", func(i int) int { return i }, MaxHandshakes},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSimWorld(t, 1)
				l := w.listen(1, "server:1")
				const flood = 1000
				for i := range flood {
					w.call(t, c.source(i), nil)
				}
				require.EqualValues(t, flood-c.waiting, l.Counters().Displaced)
				require.Zero(t, queuePairs(t, w.hosts[1]))
				within(t, "an honest client's Dial", 50*time.Millisecond, func() {
					client, err := w.hosts[0].Dial(t.Context(), "server:1")
					require.NoError(t, err)
					server, err := l.Accept(t.Context())
					require.NoError(t, err)
					require.NoError(t, client.Close())
					require.NoError(t, server.Close())
				})
				require.NoError(t, l.Close())
				require.Equal(t, ListenerCounters{Established: 1, Failed: flood,
					Displaced: l.Counters().Displaced}, l.Counters())
			})
		})
	}
}

// Unaccepted connections are limited; Accept makes room for waiting clients.
func TestUnacceptedConnections(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources int
		hold    int // queue pairs at a time
	}{
		{"one source", 1, MaxUnacceptedFrom},
		{"three sources", 3, MaxUnaccepted},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSimWorld(t, 1)
				l := w.listen(1, "server:1")
				const clients = MaxUnaccepted + 8
				hello := validHello(t)
				for i := range clients {
					tcp := w.call(t, i%c.sources, nil)
					go func() { // a valid client
						_, _ = tcp.Write(hello)
						if _, err := connect.Receive(t.Context(), tcp, maxHelloSize); err == nil {
							_, _ = connect.Barrier(t.Context(), tcp, "ready", nil)
						}
						_, _ = io.Copy(io.Discard, tcp)
					}()
				}
				time.Sleep(time.Second)
				require.Equal(t, c.hold, queuePairs(t, w.hosts[1]))
				for range clients {
					accepted, err := l.Accept(t.Context())
					require.NoError(t, err)
					require.NoError(t, accepted.Close())
				}
				require.Equal(t, ListenerCounters{Established: clients}, l.Counters())
				require.Zero(t, queuePairs(t, w.hosts[1]))
			})
		})
	}
}

// The definition of a source.
func TestSourceOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false},
		{"10.0.0.1", "::ffff:10.0.0.1", true},
		{"2001:db8::1", "2001:db8::ffff:1", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
	} {
		source := func(s string) netip.Prefix {
			return sourceOf(net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(s), 1)))
		}
		assert.Equal(t, c.same, source(c.a) == source(c.b), "%s, %s", c.a, c.b)
	}
	assert.Zero(t, sourceOf(simAddr("pipe")))
}

// Close waits for a peer that does not receive for as long as Linger permits.
func TestLinger(t *testing.T) {
	for _, c := range []struct {
		name   string
		linger units.Duration
		abort  time.Duration // when another goroutine aborts; 0: never
		takes  time.Duration
		lost   bool // Close reports lost messages
	}{
		{"by default", 0, 0, 2 * time.Second, true},
		{"as the option says", 500 * units.Millisecond, 0, 500 * time.Millisecond, true},
		{"until an Abort", 0, time.Second, time.Second, false},
		{"for ever, until an Abort", -1, 10 * time.Second, 10 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSimWorld(t, 1)
				w.hosts[0].begin(Options{Linger: c.linger})
				dial := w.tcp.dial
				w.hosts[0].dialTCP = func(ctx context.Context, to string) (net.Conn, error) {
					return dial(ctx, netip.MustParseAddr("10.0.0.1"), to)
				}
				client, server := w.connected(t)
				fill(t, client)
				if c.abort > 0 {
					go func() {
						time.Sleep(c.abort)
						within(t, "Abort", time.Millisecond, func() {
							assert.NoError(t, client.Abort())
						})
					}()
				}
				began := time.Now()
				err := client.Close()
				require.InDelta(t, c.takes, time.Since(began), float64(time.Millisecond))
				require.Equal(t, c.lost, err != nil)
				if c.lost {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, "64 messages not acknowledged")
				}
				synctest.Wait()
				require.ErrorContains(t, server.Err(), "reset")
				require.NoError(t, server.Close())
			})
		})
	}
}

// Host.Close ends all blocked calls of the host.
func TestHostCloseEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimWorld(t, 1)
		client, server := w.connected(t)
		fill(t, client)
		ctx, h := context.Background(), w.hosts[0]
		listener, cm := w.listen(0, "client:1"), func() *CMListener {
			l, err := h.ListenCM(cmPort)
			require.NoError(t, err)
			return l
		}()
		waits := map[string]func() error{
			"Accept":         func() error { _, err := listener.Accept(ctx); return err },
			"Accept of CM":   func() error { _, err := cm.Accept(ctx); return err },
			"Dial":           func() error { _, err := h.Dial(ctx, "nobody:1"); return err },
			"Dial of silent": func() error { _, err := h.Dial(ctx, "silent:1"); return err },
			"Send":           func() error { return client.Send(ctx, nil) },
			"Recv":           func() error { _, err := client.Recv(ctx, nil); return err },
			"Flush":          func() error { return client.Flush(ctx) },
		}
		silent := w.tcp.listen("silent:1")
		go func() {
			tcp, err := silent.Accept()
			if err == nil {
				_, _ = io.Copy(io.Discard, tcp)
			}
		}()
		ended := make(chan struct{})
		for name, wait := range waits {
			go func() {
				assert.ErrorIs(t, wait(), ErrClosed, name)
				ended <- struct{}{}
			}()
		}
		synctest.Wait()
		within(t, "Host.Close", 50*time.Millisecond, func() { require.NoError(t, h.Close()) })
		within(t, "what waited", time.Millisecond, func() {
			for range waits {
				<-ended
			}
		})
		require.NoError(t, client.Close())
		synctest.Wait()
		require.ErrorContains(t, server.Err(), "reset", "64 messages were not acknowledged")
		require.NoError(t, server.Close())
	})
}

// Dial repeats a handshake that a server does not finish.
func TestDialRepeatsUnfinishedHandshakes(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(tcp net.Conn) // serves the first handshakes
		takes time.Duration
	}{
		{"silent", func(tcp net.Conn) { _, _ = io.Copy(io.Discard, tcp) }, 10 * time.Second},
		{"leaves", func(tcp net.Conn) { _ = tcp.Close() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSimWorld(t, 1)
				bad := w.tcp.listen("server:1")
				good := make(chan *Listener, 1)
				go func() {
					for range 2 {
						tcp, err := bad.Accept()
						if assert.NoError(t, err) {
							c.serve(tcp)
						}
					}
					good <- w.listen(1, "server:1")
					_ = bad.Close()
				}()
				began := time.Now()
				client, err := w.hosts[0].Dial(t.Context(), "server:1")
				require.NoError(t, err)
				require.InDelta(t, c.takes, time.Since(began), float64(100*time.Millisecond))
				require.NoError(t, client.Close())
				require.NoError(t, (<-good).Close())

				_ = w.tcp.listen("nobody:1")
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err = w.hosts[0].Dial(short, "nobody:1")
				require.ErrorIs(t, err, context.DeadlineExceeded)
			})
		})
	}
}
