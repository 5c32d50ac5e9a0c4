package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/connect/lockstep"
)

// recorder is a connection that records the length of each write.
type recorder struct {
	net.Conn
	mu     sync.Mutex
	writes []int
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	r.writes = append(r.writes, len(b))
	r.mu.Unlock()
	return r.Conn.Write(b)
}

// take returns the messages written since the last call, as letters: hello, keys, report, done.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var s strings.Builder
	for _, n := range r.writes {
		s.WriteString(map[int]string{16: "v", 4: "c", 2: "m", destinationLen: "k", 8: "r",
			len(lockstep.Done): "d"}[n])
	}
	r.writes = nil
	return s.String()
}

// sockets returns the two ends of a TCP connection on loopback.
func sockets(t *testing.T) (client, server net.Conn) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err = net.Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	server, err = l.Accept()
	require.NoError(t, err)
	return client, server
}

// steps runs a side to the end and returns what it wrote at each step: handshake, Exchange,
// Connected, then Ready and Done of each size, Finish.
func steps(conn net.Conn, client bool, test Test, queuePairs, sizes int) (wrote []string,
	reports []*Report, err error) {
	ctx := context.Background()
	r := &recorder{Conn: conn}
	greeting, first, ip := Accept, 0x200, "fd00::2"
	if client {
		greeting, first, ip = Connect, 0x100, "fd00::1"
	}
	s, err := greeting(ctx, r, test, hello())
	if err != nil {
		return nil, nil, err
	}
	wrote = append(wrote, r.take())
	var mine []Destination
	for i := range queuePairs {
		d := destination(first + i)
		d.GID = netip.MustParseAddr(ip)
		mine = append(mine, d)
	}
	theirs, err := s.Exchange(ctx, mine)
	if err != nil {
		return wrote, nil, err
	}
	if len(theirs) != queuePairs ||
		theirs[queuePairs-1].QPN != uint32(0x300-first+queuePairs-1+0x11) {
		return wrote, nil, fmt.Errorf("other queue pairs: %+v", theirs)
	}
	wrote = append(wrote, r.take())
	if err := s.Connected(ctx); err != nil {
		return wrote, nil, err
	}
	wrote = append(wrote, r.take())
	for i := range sizes {
		if err := s.Ready(ctx); err != nil {
			return wrote, reports, err
		}
		wrote = append(wrote, r.take())
		report, err := s.Done(ctx, Report{Size: 2 << i, Iterations: uint64(first)}, i == sizes-1)
		if err != nil {
			return wrote, reports, err
		}
		reports = append(reports, report)
		wrote = append(wrote, r.take())
	}
	err = s.Finish(ctx)
	return append(wrote, r.take()), reports, err
}

// Client and server send the same messages at each step.
func TestEveryTest(t *testing.T) {
	for _, c := range []struct {
		test              Test
		queuePairs, sizes int
		// handshake Exchange Connected (Ready Done)... Finish, a dot for no message
		wrote          string
		client, server bool // learn the peer's report
	}{
		{Test{Verb: Write}, 1, 1, "vccm k kk . krrrrr kd", false, true},
		{Test{Verb: Read}, 3, 1, "vccm kkk kkkk . krrrrr kd", false, true},
		{Test{Verb: Atomic}, 1, 1, "vccm k kk . krrrrr kd", false, true},
		{Test{Verb: Send}, 1, 1, "vccm k kk k . kd", false, false},
		{Test{Verb: Send}, 128, 1, "vccm " + strings.Repeat("k", 128) + " " + strings.Repeat("k",
			129) + " k . kd", false, false},
		{Test{Verb: Write, Bidirectional: true}, 2, 1, "vccm kk kkk k rrrrr kd", true, true},
		{Test{Verb: Read, Bidirectional: true, Duration: true}, 1, 1, "vccm k kk k rrrrr kd", true,
			true},
		{Test{Verb: Send, Bidirectional: true}, 2, 1, "vccm kk kkk k rrrrr kd", true, true},
		{Test{Verb: Send, Bidirectional: true, Duration: true}, 1, 1, "vccm k kk k . kd", false,
			false},
		{Test{Verb: Write, All: true}, 1, 2, "vccm k kk . . . krrrrr kd", false, true},
		{Test{Verb: Write, All: true, Bidirectional: true}, 1, 2, "vccm k kk k krrrrr k krrrrr kd",
			true, true},
		{Test{Verb: Send, All: true}, 1, 2, "vccm k kk k k k k kd", false, false},
		{Test{Verb: Send, All: true, Bidirectional: true}, 1, 2, "vccm k kk k rrrrrk k rrrrrk kd",
			true, true},
		{Test{Verb: Write, Kind: Latency}, 1, 1, "vccm kk kk . . .", false, false},
		{Test{Verb: Write, Kind: Latency, All: true}, 1, 2, "vccm kk kk . . . . .", false, false},
		{Test{Verb: Read, Kind: Latency}, 2, 1, "vccm kkk kkk . . kd", false, false},
		{Test{Verb: Atomic, Kind: Latency}, 1, 1, "vccm kk kk . . kd", false, false},
		{Test{Verb: Send, Kind: Latency}, 1, 1, "vccm k kk k . kd", false, false},
		{Test{Verb: Send, Kind: Latency, All: true}, 1, 2, "vccm k kk k . k . kd", false, false},
	} {
		pipe := func(*testing.T) (net.Conn, net.Conn) { return net.Pipe() }
		for way, connect := range map[string]func(*testing.T) (net.Conn, net.Conn){"pipe": pipe,
			"TCP": sockets} {
			t.Run(fmt.Sprintf("%s/%s", c.test, way), func(t *testing.T) {
				a, b := connect(t)
				type end struct {
					wrote   []string
					reports []*Report
					err     error
				}
				ended := make(chan end, 1)
				go func() {
					defer b.Close()
					var e end
					e.wrote, e.reports, e.err = steps(b, false, c.test, c.queuePairs, c.sizes)
					ended <- e
				}()
				wrote, reports, err := steps(a, true, c.test, c.queuePairs, c.sizes)
				a.Close()
				server := <-ended
				require.NoError(t, err)
				require.NoError(t, server.err)
				want := strings.Split(strings.ReplaceAll(c.wrote, ".", ""), " ")
				require.Equal(t, want, wrote, "the client")
				require.Equal(t, want, server.wrote, "the server")
				require.Equal(t, c.client, reports[c.sizes-1] != nil)
				require.Equal(t, c.server, server.reports[c.sizes-1] != nil)
				if c.client {
					require.Equal(t, Report{Size: 2 << (c.sizes - 1), Iterations: 0x200},
						*reports[c.sizes-1])
				}
				if c.server {
					require.Equal(t, Report{Size: 2 << (c.sizes - 1), Iterations: 0x100},
						*server.reports[c.sizes-1])
				}
			})
		}
	}
}

func TestNoSuchTest(t *testing.T) {
	for _, test := range []Test{{Kind: Latency, Bidirectional: true}, {Verb: 4}, {Kind: 2}} {
		_, err := Connect(context.Background(), nil, test, hello())
		require.ErrorContains(t, err, "unknown test")
	}
}

// Misbehaving peers, against both roles. Each sends its messages one at a time, reads everything,
// and at the end closes the connection or stays silent.
func TestBadPeers(t *testing.T) {
	keys := func(qpn int, gid string) string {
		d := destination(qpn - 0x11)
		d.GID = netip.MustParseAddr(gid)
		b, err := d.Encode()
		require.NoError(t, err)
		return string(b)
	}
	greeting := []string{"6.06" + strings.Repeat("\x00", 12), "\x00\x00\x10\x00",
		"\x00\x00\x00\x40", "3\x00"}
	after := func(more ...string) []string {
		return append(append([]string(nil), greeting...), more...)
	}
	one, two := keys(0x200, "10.0.0.2"), keys(0x201, "10.0.0.2")
	report := "\x00\x00\x00\x00\x00\x00\x08\x00"

	for _, c := range []struct {
		name   string
		test   Test
		says   []string
		silent bool // stays connected at the end
		err    error
		what   string
	}{
		{"a port scanner", Test{}, nil, false, ErrGone, "version: got 0 of 16 bytes"},
		{"a half-open connection", Test{}, nil, true, context.DeadlineExceeded,
			"version: got 0 of 16 bytes"},
		{"a browser", Test{}, []string{"GET / HTTP/1.1\r\nHost: localhost:18515\r\n\r\n"}, true,
			ErrNotPerftest, `got 41 bytes, want 16: "GET / HTTP/1.1`},
		{"typed text", Test{}, []string{"hello\r\n"}, true, ErrNotPerftest,
			`got 7 bytes, want 16: "hello\r\n"`},
		{"typed text, then closed", Test{}, []string{"hello\r\n"}, false, ErrNotPerftest,
			`got 7 bytes, want 16`},
		{"16 bytes of something", Test{}, []string{"0123456789abcdef"}, true, ErrNotPerftest,
			`first message "0123456789abcdef"`},
		{"an older perftest", Test{}, []string{"5.30" + strings.Repeat("\x00", 12)}, true,
			ErrVersion, "version 5.30: want 5.70 or later"},
		{"dead after the greeting", Test{}, greeting, false, ErrGone,
			"keys of queue pair 0: got 0 of 108 bytes"},
		{"silent after the greeting", Test{}, greeting, true, context.DeadlineExceeded,
			"keys of queue pair 0: got 0 of 108 bytes"},
		{"an impossible MTU", Test{}, append(append([]string(nil), greeting[:3]...), "9\x00"), true,
			ErrMalformed, `MTU code "9\x00"`},
		{"no GID index there", Test{}, after(one[:43] + "00000000:\x00"), true, ErrMismatch,
			"got 53 bytes, want 108"},
		{"half of the keys", Test{}, after(one[:50]), true, ErrMismatch, "got 50 bytes, want 108"},
		{"dead in the middle of the keys", Test{}, after(one[:50]), false, ErrGone,
			"got 50 bytes, want 108"},
		{"a field too wide", Test{}, after(strings.Replace(one, "0000cafe:00", "000cafe:000", 1)),
			true, ErrMalformed, `rkey "000cafe": want 8 hexadecimal digits`},
		{"another kind of GID", Test{}, after(keys(0x200, "fd00::2")), true, ErrMismatch,
			"remote GID fd00::2, local GID 10.0.0.1: want both IPv4 or both IPv6"},
		{"a queue pair fewer", Test{Verb: Write}, after(one, one), true, ErrMismatch,
			"queue pairs 0 and 1 have the same QPN 0x200; want -q 2 on the peer"},
		{"a queue pair more", Test{Verb: Send}, after(one, two, two), true, ErrMismatch,
			"queue pair 0 was QPN 0x200 PSN 0xfffffe rkey 0xcafe, now QPN 0x201"},
		{"dead during the traffic", Test{Verb: Write}, after(one, two, one, two, one), false,
			ErrGone, "keys of queue pair 0: got 0 of 108"},
		{"another test, with reports", Test{Verb: Send, Duration: true},
			after(one, two, one, one, two, one, report), true, ErrMismatch,
			`got 8 bytes, want 108: "\x00\x00\x00\x00\x00\x00\b\x00": ` +
				`the local test is ib_send_bw -D: the two sides do not`},
		{"another test, without", Test{Verb: Write}, after(one, two, one, two, one, one, one), true,
			ErrMismatch, "report of the size: got 108 bytes, want 8"},
		{"done too early", Test{Verb: Write}, after(one, two, one, two, one,
			lockstep.Done), false, ErrGone,
			`got 5 bytes, want 108: "done\x00"`},
		{"dead in the report", Test{Verb: Write}, after(one, two, one, two, one, one, report,
			report), false, ErrGone, "report of the peak bandwidth: got 0 of 8 bytes"},
	} {
		for role, client := range map[string]bool{"client": true, "server": false} {
			t.Run(c.name+"/"+role, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, b := net.Pipe()
					go func() { // the peer
						if !c.silent {
							defer b.Close()
						}
						heard := make([]byte, 4096)
						for i, m := range c.says {
							if client {
								_, _ = b.Read(heard)
							}
							_, _ = io.WriteString(b, m)
							if !client && i < len(c.says)-1 {
								_, _ = b.Read(heard)
							}
						}
						// Read what arrives after that before closing the connection.
						_ = b.SetReadDeadline(time.Now().Add(lockstep.MessageTimeout / 2))
						_, _ = b.Read(heard)
						if c.silent {
							_ = b.SetReadDeadline(time.Time{})
						}
					}()
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					_, _, err := run(ctx, a, client, c.test, hello(),
						[]Destination{destination(0), destination(1)}, Report{})
					a.Close()
					require.ErrorIs(t, err, c.err)
					require.ErrorContains(t, err, c.what)
					require.True(t, strings.HasPrefix(err.Error(), "perftest: "), err)
					b.Close()
				})
			})
		}
	}
}

// Two goroce programs recognise each other by the mark after the version and send no further
// message. The server's next protocol may arrive along with its version. Other peers ignore the
// mark.
func TestNative(t *testing.T) {
	for _, c := range []struct {
		client, server string
		nativePrefix   bool
	}{{"goroce", "goroce", true}, {"goroce", "", false}, {"", "goroce", false},
		{"goroce", "goroce2", false}, {"", "", false}} {
		a, b := sockets(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		mine, theirs := hello(), hello()
		mine.Mark, theirs.Mark = c.client, c.server
		served := make(chan error, 1)
		go func() {
			s, err := Accept(ctx, b, Test{}, theirs)
			if err == nil && s.Native {
				_, err = b.Write([]byte("more"))
			}
			served <- err
		}()
		s, err := Connect(ctx, a, Test{}, mine)
		require.NoError(t, err)
		require.NoError(t, <-served)
		require.Equal(t, c.nativePrefix, s.Native, "%+v", c)
		require.Equal(t, c.server, s.Agreed.Mark)
		if c.nativePrefix {
			more := append([]byte(nil), s.Rest()...)
			rest, err := io.ReadAll(io.LimitReader(a, int64(4-len(more))))
			require.NoError(t, err)
			require.Equal(t, "more", string(append(more, rest...)))
		}
	}
}

// After an error every step fails at once.
func TestFailedStaysFailed(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		defer b.Close()
		_ = replay(b, messages(t, stream(t, "write-bw", "server"))[:4],
			messages(t, stream(t, "write-bw", "client"))[:4], false)
	}()
	ctx := context.Background()
	s, err := Connect(ctx, a, Test{Verb: Write}, hello())
	require.NoError(t, err)
	require.ErrorContains(t, s.Connected(ctx), "no queue pairs")
	_, err = s.Exchange(ctx, nil)
	require.ErrorContains(t, err, "no queue pairs")
	_, err = s.Exchange(ctx, []Destination{destination(0)})
	require.ErrorIs(t, err, ErrGone)
	require.Equal(t, err, s.Connected(ctx))
	_, again := s.Done(ctx, Report{}, true)
	require.Equal(t, err, again)
	require.Equal(t, err, s.Finish(ctx))
}

// A cancelled context ends a step that waits, over TCP, and leaves the connection to the caller.
func TestCancel(t *testing.T) {
	a, b := sockets(t)
	defer a.Close()
	defer b.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the operator lost patience")
	go cancel(why)
	_, err := Accept(ctx, b, Test{}, hello())
	require.ErrorIs(t, err, why)
	require.ErrorContains(t, err, "version: got 0 of 16 bytes")
}

// At the end, a perftest server sends the last keys and "done" together and closes; the connection
// may break. This is a successful end.
func TestServerClosesAfterDone(t *testing.T) {
	says, hears := messages(t, stream(t, "send-bw", "server")), messages(t,
		stream(t, "send-bw", "client"))
	last := len(says) - 2
	a, b := sockets(t)
	defer a.Close()
	played := make(chan error, 1)
	go func() {
		defer b.Close()
		heard := make([]byte, 4096)
		for i := range last + 1 {
			n, err := b.Read(heard)
			if err != nil || string(heard[:n]) != string(hears[i]) {
				played <- fmt.Errorf("message %d is %q: %w", i, heard[:n], err)
				return
			}
			m := says[i]
			if i == last {
				m = append(m, says[last+1]...)
			}
			_, _ = b.Write(m)
		}
		played <- b.(*net.TCPConn).SetLinger(0)
	}()
	_, _, err := run(context.Background(), a, true, Test{Verb: Send},
		decodeStream(t, stream(t, "send-bw", "client")).hello,
		destinations("10.77.0.1", []queuePair{{1, 0x4a, 0xd1b0ee, 0, 0x55f2f16c7000}}), Report{})
	require.NoError(t, err)
	require.NoError(t, <-played)
}

// scripted is a connection whose peer sends everything at once and reads nothing.
type scripted struct {
	net.Conn
	io.Reader
}

func (s scripted) Read(b []byte) (int, error) { return s.Reader.Read(b) }
func (scripted) Write(b []byte) (int, error)  { return len(b), nil }
func (scripted) SetDeadline(time.Time) error  { return nil }

func FuzzSession(f *testing.F) {
	for _, g := range golden {
		f.Add(stream(f, g.capture, "client"), byte(g.test.Verb), g.test.Kind == Latency,
			g.test.Bidirectional, false)
	}
	for _, g := range goldenCM {
		client, _ := sends(f, g.capture)
		f.Add(slices.Concat(client...), byte(g.test.Verb), g.test.Kind == Latency,
			g.test.Bidirectional, true)
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), byte(0), false, false, false)
	f.Fuzz(func(t *testing.T, b []byte, verb byte, latency, bidirectional, cm bool) {
		test := Test{Verb: Verb(verb % 4), Bidirectional: bidirectional && !latency, CM: cm}
		if latency {
			test.Kind = Latency
		}
		for _, client := range []bool{true, false} {
			// Byte by byte, so that messages arrive one at a time.
			conn := scripted{Reader: oneByteReader{strings.NewReader(string(b))}}
			_, _, err := run(context.Background(), conn, client, test, hello(),
				[]Destination{destination(0)}, Report{})
			if err != nil {
				require.True(t, strings.HasPrefix(err.Error(), "perftest: "), err)
			}
		}
	})
}

type oneByteReader struct{ r io.Reader }

func (o oneByteReader) Read(b []byte) (int, error) { return o.r.Read(b[:min(1, len(b))]) }
