package connect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
)

func hello() *Hello {
	return &Hello{Version: Version, Addr: netip.MustParseAddr("fe80::1"), PathMTU: 4096,
		RdAtomic: 16,
		QPs:      []QP{{Num: 0x100, PSN: 0xffffff}}, Regions: []Region{{Addr: 1 << 28, Len: 4096,
			RKey: 7}}, Settings: map[string]string{"size": "64"}}
}

func TestHelloRoundTrip(t *testing.T) {
	message, err := hello().Encode()
	require.NoError(t, err)
	n, err := bodyLen(message, MaxBody)
	require.NoError(t, err)
	got, err := Decode(message[headerLen : headerLen+n])
	require.NoError(t, err)
	require.Equal(t, hello(), got)
}

// Two Hellos agree on the extension, also when one of them has none.
func TestExtension(t *testing.T) {
	body := func(h *Hello) []byte {
		message, err := h.Encode()
		require.NoError(t, err)
		return message[headerLen:]
	}
	without := body(hello())
	require.NotContains(t, string(without), "extension")
	ours := hello()
	ours.Extension = wire.Offer{Highest: 1, Lowest: 1, Tag: 7, Features: wire.FeatureSACK,
		SACKBits: 512}
	got, err := Decode(body(ours))
	require.NoError(t, err)
	require.Equal(t, ours, got)
	theirs, err := Decode(without)
	require.NoError(t, err)
	require.Zero(t, wire.Agree(got.Extension, theirs.Extension))
	theirs.Extension = ours.Extension
	theirs.Extension.Tag = 8
	require.Equal(t, wire.Agreement{Features: wire.FeatureSACK, SendTag: 8, RecvTag: 7,
		SACKBits: 512},
		wire.Agree(got.Extension, theirs.Extension))
	for _, bad := range []string{`"4752"`, `"xyz"`, `{}`, `7`} {
		_, err := Decode(append(bytes.TrimSuffix(without, []byte("}")), `,"extension":`+bad+`}`...))
		require.ErrorIs(t, err, ErrMalformed, bad)
	}
}

func TestImpossibleHellos(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Hello)
		err   error
		says  string
	}{
		{"another version", func(h *Hello) { h.Version = 9 }, ErrVersion, "version 9: want 1"},
		{"a refusal", func(h *Hello) { h.Error = "size differs" }, ErrRefused, "size differs"},
		{"no address", func(h *Hello) { h.Addr = netip.Addr{} }, ErrMalformed, "no address"},
		{"tiny MTU", func(h *Hello) { h.PathMTU = 10 }, ErrMalformed, "path MTU 10"},
		{"too many READs", func(h *Hello) {
			h.RdAtomic = 300
		}, ErrMalformed, "300 outstanding READs"},
		{"25-bit QPN", func(h *Hello) {
			h.QPs[0].Num = 1 << 24
		}, ErrMalformed, "want 24 bits each"},
		{"25-bit PSN", func(h *Hello) {
			h.QPs[0].PSN = 1 << 24
		}, ErrMalformed, "want 24 bits each"},
		{"memory past the end", func(h *Hello) {
			h.Regions[0].Addr = ^uint64(0)
		}, ErrMalformed, "exceed the address space"},
	} {
		h := hello()
		c.spoil(h)
		message, err := h.Encode()
		require.NoError(t, err)
		_, err = Decode(message[headerLen:])
		require.ErrorIs(t, err, c.err, c.name)
		require.ErrorContains(t, err, c.says, c.name)
	}
}

// sockets returns the two ends of a TCP connection on loopback.
func sockets(t *testing.T) (a, b net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	a, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	b = <-accepted
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestExchangeAndBarrier(t *testing.T) {
	a, b := sockets(t)
	ctx := context.Background()
	big := hello()
	big.QPs = make([]QP, 16384) // more than a socket buffer: both sides write at once
	errs := make(chan error, 1)
	go func() {
		got, err := Exchange(ctx, b, big)
		if err == nil && len(got.QPs) != 16384 {
			err = errors.New("queue pairs are missing")
		}
		if err == nil {
			_, err = Barrier(ctx, b, "start", map[string]string{"side": "b"})
		}
		if err == nil {
			_, err = Barrier(ctx, b, "end", nil)
		}
		errs <- err
	}()
	second := *big
	got, err := Exchange(ctx, a, &second)
	require.NoError(t, err)
	require.Len(t, got.QPs, 16384)
	facts, err := Barrier(ctx, a, "start", nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"side": "b"}, facts)
	_, err = Barrier(ctx, a, "another end", nil)
	require.ErrorContains(t, err, `the peer is at barrier "end", want "another end"`)
	require.ErrorContains(t, <-errs, "another end")
}

func TestClientsThatAreNotGoroce(t *testing.T) {
	header := func(n uint32) []byte { return binary.BigEndian.AppendUint32([]byte(magic), n) }
	for _, c := range []struct {
		name string
		says []byte
		err  error
	}{
		{"a browser", []byte("GET / HTTP/1.1\r\n\r\n"), ErrNotGoroce},
		{"perftest", []byte("6.06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), ErrNotGoroce},
		{"one byte", []byte("G"), ErrNotGoroce},
		{"a body too long", header(MaxBody + 1), ErrMalformed},
		{"no JSON", append(header(4), "nope"...), ErrMalformed},
		{"a refusal", append(header(27), `{"version":1,"error":"full"}`[:27]...), ErrMalformed},
	} {
		a, b := sockets(t)
		_, err := b.Write(c.says)
		require.NoError(t, err)
		require.NoError(t, b.(*net.TCPConn).CloseWrite())
		_, err = Exchange(context.Background(), a, hello())
		require.ErrorIs(t, err, c.err, c.name)
	}
}

func TestNothingHangs(t *testing.T) {
	a, _ := sockets(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := Exchange(ctx, a, hello())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = Dial(ctx, "127.0.0.1:1")
	require.ErrorContains(t, err, "no server at 127.0.0.1:1")
}

// Dial does not retry an invalid address.
func TestDialOfAnInvalidAddress(t *testing.T) {
	for _, c := range []struct{ addr, says string }{
		{"server-without-a-port", "missing port"},
		{"", "missing port"},
		{"::1", "too many colons"},
		{"[::1", "missing ']'"},
		{"127.0.0.1:no-such-service", "unknown port"},
		{"127.0.0.1:65536", "invalid port"},
		{"127.0.0.1:-1", "invalid port"},
	} {
		_, err := Dial(context.Background(), c.addr)
		require.ErrorContains(t, err, "connect: ", c.addr)
		require.ErrorContains(t, err, c.says, c.addr)
	}
}

// A server that receives first sends nothing before the client's Hello, and reads only the Hello.
func TestServerReceivesFirst(t *testing.T) {
	ctx := context.Background()
	a, b := sockets(t)
	got := make(chan error, 1)
	go func() {
		theirs, err := Exchange(ctx, b, hello())
		if err == nil && theirs.QPs[0].Num != 7 {
			err = errors.New("got another Hello")
		}
		got <- err
	}()
	theirs, err := Receive(ctx, a, 4096)
	require.NoError(t, err)
	require.Equal(t, hello(), theirs)
	ours := hello()
	ours.QPs[0].Num = 7
	require.NoError(t, Send(ctx, a, ours))
	require.NoError(t, <-got)

	for _, c := range []struct {
		name  string
		limit int
		says  string // by the client
		err   error
	}{
		{"too long", 100, magic + "\x00\x00\x00\x65", ErrMalformed},
		{"longer than any", MaxBody, magic + "\xff\xff\xff\xff", ErrMalformed},
		{"cut", MaxBody, magic + "\x00\x00\x00\x65{", io.ErrUnexpectedEOF},
		{"nothing", MaxBody, "", io.EOF},
	} {
		a, b := sockets(t)
		_, err := b.Write([]byte(c.says))
		require.NoError(t, err)
		require.NoError(t, b.Close())
		_, err = Receive(ctx, a, c.limit)
		require.ErrorIs(t, err, c.err, c.name)
	}

	a, _ = sockets(t)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Receive(over, a, MaxBody)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, Send(over, a, hello()), context.Canceled)
}

func TestRefuse(t *testing.T) {
	a, b := sockets(t)
	go func() { _ = Refuse(context.Background(), b, errors.New("-s is 64 here and 32 there")) }()
	_, err := Exchange(context.Background(), a, hello())
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "-s is 64 here")
}

func TestDialWaitsForTheServer(t *testing.T) {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := probe.Addr().String()
	probe.Close()
	go func() {
		time.Sleep(50 * time.Millisecond)
		if l, err := net.Listen("tcp", addr); err == nil {
			c, _ := l.Accept()
			c.Close()
			l.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := Dial(ctx, addr)
	require.NoError(t, err)
	c.Close()
}

func FuzzDecode(f *testing.F) {
	message, _ := hello().Encode()
	f.Add(message)
	h := hello()
	h.Extension = wire.Offer{Highest: 2, Lowest: 1, Tag: 7, Features: wire.FeatureSACK,
		SACKBits: 64}
	message, _ = h.Encode()
	f.Add(message)
	f.Add([]byte(magic + "\x00\x00\x00\x02{}"))
	f.Add([]byte("GET / HTTP/1.1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		body, err := read(bytes.NewReader(b), MaxBody)
		if err != nil {
			return
		}
		h, err := Decode(body)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "connect: ") {
				t.Fatalf("error without context: %v", err)
			}
			return
		}
		again, err := h.Encode()
		require.NoError(t, err)
		_, err = Decode(again[headerLen:])
		require.NoError(t, err)
	})
}
