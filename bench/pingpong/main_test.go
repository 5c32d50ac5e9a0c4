package pingpong

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/connect/pingpong"
	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/units"
)

var quiet = slog.New(slog.DiscardHandler)

func TestLoop(t *testing.T) {
	for _, args := range []string{"", "-c", "-c -s 1 -n 5000 -r 1", "-c -s 4097 -m 256",
		"-c -s 1M -n 20 -m 4096",
		"-c --ip 10.0.0.1/24 --ip fd00::1/64 -g 1", "-n 1 -l 15", "-c -n 20 -s 64K --cc swift"} {
		t.Run(args, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append(strings.Fields(args), "-d", "loop:"+t.Name()), &out,
				&errs)
			require.Zero(t, code, errs.String())
			require.Empty(t, errs.String())
			require.Regexp(t, `^  local address:  LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID f\S+
  remote address: LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID f\S+
\d+ bytes in \d+\.\d\d seconds = \d+\.\d\d Mbit/sec
\d+ iters in \d+\.\d\d seconds = \d+\.\d\d usec/iter
$`, strings.ReplaceAll(out.String(), "GID ::f", "GID f"))
		})
	}
}

// TestTrace checks that the event log has the packets of both ends.
func TestTrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.sqlog")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"-n", "10", "-d", "loop:" + t.Name(), "--trace", file,
		"--metrics", "127.0.0.1:0"}, &out, &errs)
	require.Zero(t, code, errs.String())
	log, err := os.Open(file)
	require.NoError(t, err)
	defer log.Close()
	r := analysis.New(file, analysis.EventLog)
	require.NoError(t, r.Log(log, func(int64) {}))
	require.Len(t, r.Flows, 2)
}

// The lines are those of ibv_rc_pingpong.
func TestOutput(t *testing.T) {
	s, err := parse([]string{"-s", "1000", "-n", "500"})
	require.NoError(t, err)
	var out strings.Builder
	x := &session{settings: s, out: &out,
		bounce: &bounce{ended: units.Time(0).Add(250 * units.Millisecond)}}
	x.print("local", pingpong.Destination{QPN: 0x11, PSN: 0x22,
		GID: netip.MustParseAddr("10.0.0.1")})
	x.print("remote", pingpong.Destination{LID: 7, QPN: 0xffffff, PSN: 0xabcdef,
		GID: netip.MustParseAddr("fd18::1")})
	x.report()
	require.Equal(t,
		"  local address:  LID 0x0000, QPN 0x000011, PSN 0x000022, GID ::ffff:10.0.0.1\n"+
			"  remote address: LID 0x0007, QPN 0xffffff, PSN 0xabcdef, GID fd18::1\n"+
			"1000000 bytes in 0.25 seconds = 32.00 Mbit/sec\n"+
			"500 iters in 0.25 seconds = 500.00 usec/iter\n", out.String())
}

func TestBadFlags(t *testing.T) {
	for args, says := range map[string]string{
		"-s 0": "-s 0: want 1 to", "-s x": "-s x: ", "-s 2G": "want 1 to",
		"-n 0":    "-n 0: want 1 to",
		"-r 0":    "-r 0: want 1 to",
		"-m 1500": "-m 1500: want 256", "-l 16": "-l 16: want 0 to 15",
		"-p 70000":      "-p 70000: want 1 to 65535",
		"-g 1":          "-g 1: want 0 to 0",
		"--ip 10.0.0.1": "--ip 10.0.0.1: want an address with its prefix length",
		"--gateway x":   "--gateway x", "--timeout x": "--timeout x: want a duration",
		"--timeout 0s":  "--timeout 0s: want a duration",
		"a b":           "accepts at most 1 arg(s), received 2",
		"-d loop: host": "host: want no server with -d loop:",
		"--what":        "see roce_rc_pingpong --help",
		"-d null: -m 9": "-m 9: want 256", "-d nosuch:": "nosuch",
		"--cc quick": `--cc: unknown algorithm "quick"`, "--cc hpcc": "--cc: hpcc needs INT",
	} {
		code := cli.Misuse
		if args == "-d nosuch:" { // found when the port is opened
			code = cli.Failed
		}
		var errs strings.Builder
		require.Equal(t, code, run(t.Context(), strings.Fields(args), io.Discard, &errs), args)
		require.Contains(t, errs.String(), says)
		require.True(t, strings.HasPrefix(errs.String(), name+": "))
	}
	var out strings.Builder
	require.Zero(t, run(t.Context(), []string{"-h"}, &out, io.Discard))
	require.Contains(t, out.String(), "--rx-depth")
}

// play runs two ends with separate settings and returns how each ended.
func play(t *testing.T, client, server string) (errs [2]error) {
	var sides [2]*session
	for i, line := range []string{client, server} {
		s, err := parse(append(strings.Fields(line), "-d", "loop:"+t.Name(), "--timeout", "2s"))
		require.NoError(t, err)
		sides[i], err = s.open(i == 0, quiet, io.Discard)
		require.NoError(t, err)
		defer sides[i].host.Close()
	}
	a, b := net.Pipe()
	ended := make(chan struct{})
	go func() { errs[1] = sides[1].play(t.Context(), b); close(ended) }()
	errs[0] = sides[0].play(t.Context(), a)
	<-ended
	return errs
}

func TestSettingsThatDiffer(t *testing.T) {
	for _, c := range []struct{ name, client, server, hears, says string }{
		{"a client without -c", "", "-c", "",
			"-c: message 1: byte 0 of 4096: got 0x7b, want 0x00; does the client use -c"},
		{"a smaller message", "-c -s 4000", "-c", "",
			"-c: message 1: got 4000 bytes, want 4096 (-s)"},
		{"a larger one", "-s 5000", "", "message 1: remote invalid request",
			"message 1: local length error"},
		{"fewer messages", "-n 500", "-n 501", "", "no completion for 2s, with 500 messages " +
			"received and 500 acknowledged of 501: no message from the peer; do -s, -m, -n"},
		{"another path MTU", "-m 256", "", "message 1: remote invalid request", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := play(t, c.client, c.server)
			if c.says != "" {
				require.ErrorContains(t, errs[1], c.says)
			}
			if c.hears != "" {
				require.ErrorContains(t, errs[0], c.hears)
			}
		})
	}
}

// A server ignores connections without data, reports a client with another protocol, and a client
// whose server dies after the handshake reports that.
func TestServer(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string // sent by the first client
		err    error
	}{
		{"a port scanner first", "", nil},
		{"a browser", "GET / HTTP/1.1\r\n\r\n", pingpong.ErrNotPingpong},
	} {
		t.Run(c.name, func(t *testing.T) {
			probe, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addr := probe.Addr().String()
			probe.Close()
			_, port, _ := net.SplitHostPort(addr)
			s, err := parse([]string{"-d", "loop:" + t.Name(), "-p", port, "-c"})
			require.NoError(t, err)
			served := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() { served <- s.serve(ctx, quiet, io.Discard) }()
			var caller net.Conn
			require.Eventually(t, func() bool {
				caller, err = net.Dial("tcp", addr)
				return err == nil
			}, 10*time.Second, time.Millisecond)
			_, _ = io.WriteString(caller, c.before)
			if c.before == "" {
				caller.Close()
				client := *s
				client.Host = "127.0.0.1"
				require.NoError(t, client.dial(ctx, quiet, io.Discard))
			} else {
				defer caller.Close()
			}
			err = <-served
			if c.err == nil {
				require.NoError(t, err)
			}
			require.ErrorIs(t, err, c.err)
		})
	}
}

func TestPeerThatVanishes(t *testing.T) {
	for _, c := range []struct {
		name   string
		client bool
		gone   bool // its port is closed too
		says   string
	}{
		{"a server that does not answer", true, false,
			"no completion for 500ms, with 0 messages received"},
		{"a client that does not begin", false, false,
			"no completion for 500ms, with 0 messages received"},
		{"a server without a link", true, true, "no link on port loop:"},
		{"a client without a link", false, true, "no link on port loop:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parse([]string{"-d", "loop:" + t.Name(), "--timeout", "500ms"})
			require.NoError(t, err)
			x, err := s.open(c.client, quiet, io.Discard)
			require.NoError(t, err)
			defer x.host.Close()
			peer, err := s.open(!c.client, quiet, io.Discard)
			require.NoError(t, err)
			defer peer.host.Close()
			if c.gone {
				require.NoError(t, peer.host.Close())
				peer.mine.GID = netip.MustParseAddr("fe80::9")
			}
			ready := func(d pingpong.Destination) error {
				if c.gone {
					return nil
				}
				return peer.ready(d)
			}
			a, b := net.Pipe()
			go func() {
				defer b.Close()
				if c.client {
					_, _ = pingpong.Accept(t.Context(), b, peer.mine, ready)
				} else if d, err := pingpong.Connect(t.Context(), b, peer.mine); err == nil {
					_ = ready(d)
				}
			}()
			require.ErrorContains(t, x.play(t.Context(), a), c.says)
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var errs strings.Builder
	code := run(ctx, []string{"-d", "loop:" + t.Name(), "-n", "1000000000"},
		whenTold{"remote address", func() {
			cancel(cli.Signal{Signal: syscall.SIGINT})
		}}, &errs)
	require.Equal(t, 128+int(syscall.SIGINT), code)
	require.Contains(t, errs.String(), "interrupted")
}

// whenTold calls a function once a text is printed.
type whenTold struct {
	word string
	do   func()
}

func (w whenTold) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.word) {
		w.do()
	}
	return len(b), nil
}

func TestCompare(t *testing.T) {
	want := newMessage(5000, true)
	require.NoError(t, compare(bytes.Clone(want), want))
	for i := range want {
		got := bytes.Clone(want)
		got[i]++
		require.ErrorContains(t, compare(got, want), fmt.Sprintf("byte %d of 5000", i))
	}
	require.NotContains(t, newMessage(5000, false), byte(0))
}
