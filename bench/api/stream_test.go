package api

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/goroce/goroce"
	example "github.com/goroce/goroce/examples/grpc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// accepted returns the two ends of a connection to a listener.
func accepted(b *testing.B, l net.Listener, dial func(addr string) (net.Conn, error)) (client,
	server net.Conn) {
	client, err := dial(l.Addr().String())
	require.NoError(b, err)
	server, err = l.Accept()
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

// newTCP returns the two ends of a TCP connection over the loopback interface.
func newTCP(b *testing.B) (client, server net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	return accepted(b, l, func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) })
}

// newStream returns the two ends of a stream.
func newStream(b *testing.B, h hosts) (client, server net.Conn) {
	l, err := h.server.ListenStream("127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	return accepted(b, l, func(addr string) (net.Conn, error) {
		return h.client.DialStream(context.Background(), addr)
	})
}

// BenchmarkGoroutineMessages compares the round trip of a message of 64 bytes between goroutines
// with one over TCP's loopback.
func BenchmarkGoroutineMessages(b *testing.B) {
	for _, wait := range []struct {
		name string
		spin units.Duration
	}{{"spinning", spinning}, {"waiting", waiting}} {
		for _, a := range arrangements {
			b.Run(wait.name+"/"+a.name, func(b *testing.B) {
				benchmarkMessages(b, goroce.Options{Spin: wait.spin, Cores: a.cores})
			})
		}
	}
}

func benchmarkMessages(b *testing.B, o goroce.Options) {
	const size, n = 64, 500
	h := openLoop(b, o)
	client, server := h.dial(b)
	tcpClient, tcpServer := newTCP(b)
	go func() { _, _ = io.Copy(tcpServer, tcpServer) }()
	ctx := context.Background()
	go func() {
		var buf [size]byte
		for {
			if _, err := server.Recv(ctx, buf[:]); err != nil {
				return
			}
			if server.Send(ctx, buf[:]) != nil {
				return
			}
		}
	}()
	var ours, tcp latencies
	var buf [size]byte
	for b.Loop() {
		ours.timed(n, h.client.Now, func() {
			require.NoError(b, client.Send(ctx, buf[:]))
			_, err := client.Recv(ctx, buf[:])
			require.NoError(b, err)
		})
		tcp.timed(n, h.client.Now, func() {
			_, err := tcpClient.Write(buf[:])
			require.NoError(b, err)
			_, err = io.ReadFull(tcpClient, buf[:])
			require.NoError(b, err)
		})
	}
	report(b, map[string]float64{"p50-µs": ours.p50(), "tcp-p50-µs": tcp.p50(),
		"times-faster": tcp.p50() / ours.p50()})
}

// transfer writes n times len(data) bytes and waits until they have been read.
func transfer(b *testing.B, w io.Writer, r io.Reader, data []byte, n int) {
	read := make(chan error)
	go func() {
		buf := make([]byte, len(data))
		var err error
		for i := 0; i < n && err == nil; i++ {
			_, err = io.ReadFull(r, buf)
		}
		read <- err
	}()
	for range n {
		_, err := w.Write(data)
		require.NoError(b, err)
	}
	require.NoError(b, <-read)
}

// BenchmarkStream compares writes of 1 MiB to a stream over memif with WRITEs of 1 MiB by a program
// on the polling core, and with TCP's loopback.
func BenchmarkStream(b *testing.B) {
	for _, a := range arrangements {
		b.Run(a.name, func(b *testing.B) {
			dir, err := os.MkdirTemp("", "api") // b.TempDir has a "=", which memif: rejects
			require.NoError(b, err)
			defer os.RemoveAll(dir)
			h := openPair(b, "memif:"+dir+"/s", ",client", goroce.Options{Cores: a.cores})
			b.Cleanup(func() { h.close(b) })
			client, server := newStream(b, h)
			tcpClient, tcpServer := newTCP(b)
			program := newPoster(b, h, transport.OpWrite, 1<<20, 16, 1)
			data := make([]byte, 1<<20)
			const n = 64
			var ours, core, tcp []float64
			for b.Loop() {
				ours = append(ours, rate(n, func() { transfer(b, client, server, data, n) }))
				core = append(core, rate(n, func() { program.run(b, n) }))
				tcp = append(tcp, rate(n, func() { transfer(b, tcpClient, tcpServer, data, n) }))
			}
			stream := median(ours)
			report(b, map[string]float64{"stream-MiB/s": stream, "core-MiB/s": median(core),
				"tcp-MiB/s": median(tcp), "of-core": stream / median(core),
				"of-tcp": stream / median(tcp)})
		})
	}
}

// serveEcho serves the example's service on a listener until the end of the benchmark.
func serveEcho(b *testing.B, l net.Listener) {
	s := example.NewServer()
	go func() { _ = s.Serve(l) }()
	b.Cleanup(s.Stop)
}

// newClients returns clients over a stream and over TCP.
func newClients(b *testing.B, h hosts) (stream, tcp example.Client) {
	l, err := h.server.ListenStream("127.0.0.1:0")
	require.NoError(b, err)
	serveEcho(b, l)
	stream, err = example.Dial(h.client, l.Addr().String())
	require.NoError(b, err)
	t, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	serveEcho(b, t)
	conn, err := grpc.NewClient("passthrough:///"+t.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = stream.Close(), conn.Close() })
	return stream, example.Client{ClientConn: conn}
}

// BenchmarkGRPC compares unary calls of 100 bytes over a stream and over TCP's loopback, one after
// another, and 16 at a time.
func BenchmarkGRPC(b *testing.B) {
	for _, a := range arrangements {
		b.Run(a.name, func(b *testing.B) {
			h := openLoop(b, goroce.Options{Cores: a.cores})
			stream, tcp := newClients(b, h)
			clients := [2]example.Client{stream, tcp}
			var took [2]latencies
			var rates [2][]float64
			call := func(c example.Client) {
				if _, err := c.Unary(context.Background(), make([]byte, 100)); err != nil {
					b.Error(err)
				}
			}
			const n, callers = 300, 16
			for b.Loop() {
				for i, c := range clients {
					took[i].timed(n, h.client.Now, func() { call(c) })
					rates[i] = append(rates[i], rate(n*callers, func() {
						var all sync.WaitGroup
						for range callers {
							all.Go(func() {
								for range n {
									call(c)
								}
							})
						}
						all.Wait()
					}))
				}
			}
			report(b, map[string]float64{"p50-µs": took[0].p50(), "tcp-p50-µs": took[1].p50(),
				"latency-ratio": took[0].p50() / took[1].p50(), "calls/s": median(rates[0]),
				"tcp-calls/s": median(rates[1]), "rate-ratio": median(rates[0]) / median(rates[1])})
		})
	}
}
