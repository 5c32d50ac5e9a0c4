package pingpong

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/internal/connect/lockstep"
)

func destination(gid string) Destination {
	return Destination{QPN: 0x11, PSN: 0xfffffe, GID: netip.MustParseAddr(gid)}
}

const (
	v4 = "0000:000011:fffffe:00000000000000000000ffff0a000001\x00"
	v6 = "0000:000011:fffffe:fd180000000000000000000000000001\x00"
)

// Messages of ibv_rc_pingpong of Debian 12, and what it printed.
func TestGolden(t *testing.T) {
	for message, want := range map[string]Destination{
		"0000:000052:4803a9:00000000000000000000ffffc6120001\x00": {QPN: 0x52, PSN: 0x4803a9,
			GID: netip.MustParseAddr("198.18.0.1")},
		"0000:000053:9f3e88:fd180000000000000000000000000001\x00": {QPN: 0x53, PSN: 0x9f3e88,
			GID: netip.MustParseAddr("fd18::1")},
	} {
		got, err := Decode([]byte(message))
		require.NoError(t, err)
		require.Equal(t, want, got)
		again, err := want.Encode()
		require.NoError(t, err)
		require.Equal(t, message, string(again))
	}
}

// The encoding on the wire.
func TestMessages(t *testing.T) {
	for gid, want := range map[string]string{"10.0.0.1": v4, "fd18::1": v6} {
		b, err := destination(gid).Encode()
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		require.Len(t, b, destinationLen)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gid := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "GID"))
		gid[0] |= 1 // not ::
		d := Destination{
			LID: rapid.Uint16().Draw(t, "LID"), QPN: rapid.Uint32Max(0xffffff).Draw(t, "QPN"),
			PSN: rapid.Uint32Max(0xffffff).Draw(t, "PSN"), GID: netip.AddrFrom16(gid),
		}
		b, err := d.Encode()
		require.NoError(t, err)
		got, err := Decode(b)
		require.NoError(t, err)
		require.Equal(t, d, got)
	})
}

func TestImpossibleDestinations(t *testing.T) {
	for _, c := range []struct {
		name, message string
		err           error
		says          string
	}{
		{"short", v4[1:], ErrNotPingpong, "51 bytes"},
		{"long", v4 + "\x00", ErrNotPingpong, "53 bytes"},
		{"nothing", "", ErrNotPingpong, "0 bytes"},
		{"a browser", strings.Repeat("GET / HTTP/1.1\r\n", 4)[:destinationLen], ErrNotPingpong,
			"GET / HTTP"},
		{"no zero byte", strings.TrimSuffix(v4, "\x00") + "\n", ErrNotPingpong, "and a zero byte"},
		{"a field too many", strings.Replace(v4, "00:00", "0:0:0", 1), ErrNotPingpong,
			"LID:QPN:PSN:GID"},
		{"a LID of 3 digits", strings.Replace(v4, "0000:000011", "000:0000011", 1), ErrMalformed,
			`LID "000": want 4`},
		{"a sign", strings.Replace(v4, "0000:", "-000:", 1), ErrMalformed, `LID "-000"`},
		{"no hexadecimal", strings.Replace(v4, "000011", "00001g", 1), ErrMalformed,
			`QPN "00001g"`},
		{"a GID of letters", strings.Replace(v6, "fd18", "gd18", 1), ErrMalformed, "GID"},
		{"a zero byte within", strings.Replace(v6, "fd18", "fd1\x00", 1), ErrMalformed, "GID"},
		{"no -g there", "0000:000011:fffffe:" + strings.Repeat("0", 32) + "\x00", ErrMalformed,
			"without a GID: want -g"},
	} {
		_, err := Decode([]byte(c.message))
		require.ErrorIs(t, err, c.err, c.name)
		require.ErrorContains(t, err, c.says, c.name)
	}
	for _, d := range []Destination{{QPN: 1 << 24}, {PSN: 1 << 24}, {QPN: 17},
		{QPN: 17, GID: netip.IPv6Unspecified()}} {
		_, err := d.Encode()
		require.ErrorIs(t, err, ErrMalformed)
	}
}

// peers runs both sides and returns the Destination that each received.
func peers(ctx context.Context, a, b net.Conn, client, server Destination) (ofServer,
	ofClient Destination, err error) {
	failed := make(chan error, 1)
	go func() {
		var err error
		ofClient, err = Accept(ctx, b, server, func(Destination) error { return nil })
		failed <- err
	}()
	ofServer, err = Connect(ctx, a, client)
	return ofServer, ofClient, errors.Join(err, <-failed)
}

func TestBothSides(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	b, err := l.Accept()
	require.NoError(t, err)
	client, server := destination("10.0.0.1"), destination("::ffff:10.0.0.2")
	client.PSN = 5
	ofServer, ofClient, err := peers(context.Background(), a, b, client, server)
	require.NoError(t, err)
	require.Equal(t, client, ofClient)
	require.Equal(t, destination("10.0.0.2"), ofServer)
}

// The server does not send its Destination if its queue pair does not reach RTS.
func TestNotReady(t *testing.T) {
	a, b := net.Pipe()
	why := errors.New("no way there")
	heard := make(chan []byte, 1)
	go func() {
		_, _ = io.WriteString(a, v4)
		all, _ := io.ReadAll(a)
		heard <- all
	}()
	_, err := Accept(context.Background(), b, destination("10.0.0.2"),
		func(peer Destination) error {
			require.Equal(t, destination("10.0.0.1"), peer)
			return why
		})
	require.ErrorIs(t, err, why)
	b.Close()
	require.Empty(t, <-heard)
}

// Misbehaving peers, against both sides. Each sends its messages in turn, and at the end closes the
// connection or stays silent.
func TestBadPeers(t *testing.T) {
	for _, c := range []struct {
		name   string
		side   string // whose peer it is: client, server or both
		says   []string
		silent bool // stays connected at the end
		err    error
		what   string
	}{
		{"a port scanner", "both", nil, false, ErrGone,
			"the peer's destination: got 0 of 52 bytes"},
		{"a half-open connection", "both", nil, true, context.DeadlineExceeded,
			"got 0 of 52 bytes"},
		{"a browser", "both", []string{"GET / HTTP/1.1\r\nHost: localhost:18515\r\nAccept: " +
			"text/plain\r\n\r\n"}, true, ErrNotPingpong, `"GET / HTTP/1.1`},
		{"typed text", "both", []string{"hello\r\n"}, true, ErrNotPingpong,
			`got 7 bytes, want 52: "hello\r\n"`},
		{"dead in the middle", "both", []string{v4[:30]}, false, ErrNotPingpong,
			"got 30 bytes, want 52"},
		{"perftest", "both", []string{"6.06" + strings.Repeat("\x00", 12)}, true, ErrNotPingpong,
			"got 16 bytes"},
		{"ibv_srq_pingpong: several at once", "both", []string{v4 + v4}, true, ErrNotPingpong,
			"got 104 bytes, want 52"},
		{"another kind of GID", "both", []string{v6}, true, ErrMismatch,
			"remote GID fd18::1, local GID 10.0.0.2: want both IPv4 or both IPv6"},
		{"no GID", "both", []string{"0000:000011:fffffe:" + strings.Repeat("0", 32) + "\x00"}, true,
			ErrMalformed, "without a GID"},
		{"dead before the end", "server", []string{v4}, false, ErrGone,
			"the end of the handshake: got 0 of 5 bytes"},
		{"silent before the end", "server", []string{v4}, true, context.DeadlineExceeded,
			"the end of the handshake: got 0 of 5 bytes"},
		{"another end", "server", []string{v4, "donut"}, true, ErrNotPingpong,
			`last message "donut"`},
	} {
		for _, side := range []string{"client", "server"} {
			if c.side != "both" && c.side != side {
				continue
			}
			t.Run(c.name+"/"+side, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, b := net.Pipe()
					go func() { // the peer
						heard := make([]byte, 100)
						if side == "client" {
							_, _ = b.Read(heard)
						}
						for i, m := range c.says {
							_, _ = io.WriteString(b, m)
							if side == "server" && i == 0 {
								_ = b.SetReadDeadline(time.Now().Add(lockstep.MessageTimeout / 2))
								_, _ = b.Read(heard)
							}
						}
						if !c.silent {
							b.Close()
						}
					}()
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					var err error
					if side == "client" {
						_, err = Connect(ctx, a, destination("10.0.0.2"))
					} else {
						_, err = Accept(ctx, a, destination("10.0.0.2"), func(Destination) error {
							return nil
						})
					}
					require.ErrorIs(t, err, c.err)
					require.ErrorContains(t, err, c.what)
					require.True(t, strings.HasPrefix(err.Error(), "pingpong: "), err)
					a.Close()
					b.Close()
				})
			})
		}
	}
}

func TestNothingIsSentWithoutAGID(t *testing.T) {
	_, err := Connect(context.Background(), nil, Destination{QPN: 17})
	require.ErrorIs(t, err, ErrMalformed)
	_, err = Accept(context.Background(), nil, Destination{QPN: 17}, nil)
	require.ErrorIs(t, err, ErrMalformed)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(v4))
	f.Add([]byte(v6))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: localhost:18515\r\nAccept: text/plai"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Decode(b)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "pingpong: "), err)
			return
		}
		again, err := d.Encode()
		require.NoError(t, err)
		require.Equal(t, strings.ToLower(string(b)), string(again))
	})
}

// scripted is a connection whose peer sends everything and reads nothing.
type scripted struct {
	net.Conn
	io.Reader
}

func (s scripted) Read(b []byte) (int, error) { return s.Reader.Read(b[:min(1, len(b))]) }
func (scripted) Write(b []byte) (int, error)  { return len(b), nil }
func (scripted) SetDeadline(time.Time) error  { return nil }

func FuzzExchange(f *testing.F) {
	f.Add([]byte(v4 + lockstep.Done))
	f.Add([]byte(v6 + lockstep.Done))
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx, mine := context.Background(), destination("10.0.0.2")
		_, err := Connect(ctx, scripted{Reader: strings.NewReader(string(b))}, mine)
		_, err2 := Accept(ctx, scripted{Reader: strings.NewReader(string(b))}, mine,
			func(Destination) error {
				return nil
			})
		for _, err := range []error{err, err2} {
			require.True(t, err == nil || strings.HasPrefix(err.Error(), "pingpong: "), err)
		}
	})
}
