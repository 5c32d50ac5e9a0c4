package perftest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/cli"
)

// Two goroce ends that use linux-rdma perftest's protocol: the same messages, the same traffic.
// test/interop tests against the original, which needs a VM.
func TestUpstream(t *testing.T) {
	for _, test := range everyTest {
		for _, extra := range []string{"", "-b", "-c UC", "-c UD", "-a"} {
			switch {
			case extra == "-b" && test.Kind == Latency, extra == "-c UC" && test.isOneSided(),
				extra == "-c UD" && test.Verb != Send,
				extra == "-a" && test != writeBW && test != sendLat:
				continue
			}
			t.Run(test.Name()+extra, func(t *testing.T) {
				w := newEnds(t)
				args := append(strings.Fields(extra), "-n", "100")
				if test.Verb != Atomic && extra != "-a" {
					args = append(args, "-s", "2000")
				}
				// one end's flag is enough
				client := start(t, test, append(append(args, "--upstream"), w.client...)...)
				server := start(t, test, append(args, w.server...)...)
				require.Zero(t, client.ends(patience), client.result())
				require.Zero(t, server.ends(patience), server.result())
				if extra == "-a" {
					require.Contains(t, client.result(), "\n 8388608 ")
					return
				}
				switch row := regexpRow(t, client.result()); {
				case test.Kind == Latency && test.isOneSided():
					require.NotContains(t, server.result(), "latency at", "not reported to it")
				case test.Kind == Latency:
					require.Contains(t, []string{"99", "100"}, row[1],
						"the responding end has one sample less")
					require.Contains(t, []string{"99", "100"}, regexpRow(t, server.result())[1])
				case test.Verb == Send:
					require.Equal(t, "100", row[1])
				default:
					require.Equal(t, row, regexpRow(t, server.result()))
				}
			})
		}
	}
}

// Settings that perftest's handshake cannot carry are refused before the test starts.
func TestUpstreamCannot(t *testing.T) {
	w := newEnds(t)
	args := []string{"--data_validation", "--write_with_imm", "-n", "10"}
	client := start(t, writeBW, append(append(args, "--upstream"), w.client...)...)
	server := start(t, writeBW, append(args, w.server...)...)
	for _, p := range []*program{client, server} {
		require.Equal(t, cli.Failed, p.ends(patience))
		require.Contains(t, p.result(),
			"--data_validation: not supported by the peer, perftest 6.06")
		require.Contains(t, p.result(), "--write_with_imm: not supported by the peer")
	}
}

// Different options of a perftest peer show as an unexpected message.
func TestUpstreamMismatch(t *testing.T) {
	w := newEnds(t)
	client := start(t, writeBW, append([]string{"-q", "2", "-n", "10", "--upstream"},
		w.client...)...)
	server := start(t, writeBW, append([]string{"-n", "10"}, w.server...)...)
	for _, p := range []*program{client, server} {
		require.Equal(t, cli.Failed, p.ends(patience), p.result())
		require.Regexp(t, "do not run the same test|peer vanished", p.result())
	}
	require.Contains(t, client.result()+server.result(),
		"do not run the same test with the same options")
}

// The handshake does not carry the test's name. A passive server detects requests that it cannot
// serve.
func TestUpstreamOtherVerb(t *testing.T) {
	for _, test := range []Test{writeBW, readBW} {
		w := newEnds(t)
		server := start(t, test, append([]string{"-s", "64", "-n", "100"}, w.server...)...)
		client := start(t, sendBW, append([]string{"-s", "64", "-n", "100", "--upstream"},
			w.client...)...)
		require.Equal(t, cli.Failed, server.ends(patience), server.result())
		require.Contains(t, server.result(), "does it run the same test?")
		require.NotZero(t, client.ends(patience), client.result())
	}
}

func TestUpstreamPeerDies(t *testing.T) {
	for _, victim := range []string{"client", "server"} {
		t.Run(victim, func(t *testing.T) {
			w := newEnds(t)
			args := []string{"-s", "64", "-n", "1000000000", "--upstream"}
			server := start(t, writeBW, append(args, w.server...)...)
			client := start(t, writeBW, append(args, w.client...)...)
			for _, p := range []*program{client, server} {
				p.says("#bytes")
			}
			dead, alive := client, server
			if victim == "server" {
				dead, alive = server, client
			}
			require.NoError(t, dead.Process.Signal(syscall.SIGKILL))
			require.Equal(t, cli.Failed, alive.ends(10*time.Second), alive.result())
			require.Contains(t, alive.result(), ErrPeerGone.Error())
			l, err := net.Listen("tcp", fmt.Sprintf(":%d", w.port))
			require.NoError(t, err, "the port is free again")
			require.NoError(t, l.Close())
		})
	}
}

// Clients that speak another protocol, and a perftest that is too old.
func TestServerReceivesGarbage(t *testing.T) {
	for says, answer := range map[string]string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n": "does not speak perftest's handshake",
		"5.00" + strings.Repeat("\x00", 12): "the peer's perftest is too old",
		"6.06" + strings.Repeat("\x00",
			12) + "and much more": "does not speak perftest's handshake",
	} {
		w := newEnds(t)
		server := start(t, writeBW, append([]string{"--connect-timeout", "3s"}, w.server...)...)
		server.says("Waiting for client")
		c, err := net.Dial("tcp", fmt.Sprintf("localhost:%d", w.port))
		require.NoError(t, err)
		_, err = io.WriteString(c, says)
		require.NoError(t, err)
		require.Equal(t, cli.Failed, server.ends(10*time.Second), server.result())
		require.Contains(t, server.result(), answer)
		_ = c.Close()
	}
}
