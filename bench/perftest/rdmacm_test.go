package perftest

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/transport"
)

// newEndsCM returns the flags of two ends that connect through the RDMA CM: the client has the
// server's RoCE address.
func newEndsCM(t *testing.T) ends {
	w := newEnds(t)
	w.client = w.client[:len(w.client)-1] // remove the TCP host
	w.server = append(w.server, "-R", "--ip", "10.0.0.1/24", "--ip", "fd00::1/64")
	w.client = append(w.client, "-R", "--ip", "10.0.0.2/24", "--ip", "fd00::2/64")
	return w
}

// Two goroce ends with -R. test/interop tests against linux-rdma's perftest.
func TestCM(t *testing.T) {
	for _, test := range everyTest {
		for _, extra := range []string{"", "-b", "-q 4 --queues 1", "-a", "IPv6"} {
			switch {
			case (extra == "-b" || strings.HasPrefix(extra, "-q")) && test.Kind == Latency,
				extra == "-a" && test != writeBW && test != sendLat, extra == "IPv6" &&
					test != sendBW && test != writeLat:
				continue
			}
			t.Run(test.Name()+extra, func(t *testing.T) {
				w := newEndsCM(t)
				args, host := []string{"-n", "100"}, "10.0.0.1"
				if extra == "-a" {
					args[1] = "10" // of 23 sizes: a busy machine takes 10 ms for each
				}
				if extra == "IPv6" {
					host = "fd00::1"
				} else {
					args = append(args, strings.Fields(extra)...)
				}
				if test.Verb != Atomic && extra != "-a" {
					args = append(args, "-s", "2000")
				}
				client := start(t, test, append(append(args, w.client...), host)...)
				server := start(t, test, append(args, w.server...)...)
				require.Zero(t, client.ends(patience), client.result())
				require.Zero(t, server.ends(patience), server.result())
				for _, p := range []*program{client, server} {
					require.Contains(t, p.result(),
						" rdma_cm QPs\t : ON\n Data ex. method : rdma_cm\n")
					require.NotContains(t, p.result(), "VAddr")
				}
				require.Contains(t, server.result(),
					"Please run the same command with the IB/RoCE interface IP")
				if extra == "IPv6" {
					require.Contains(t, client.result(), "remote address: LID 0000")
					require.Contains(t, client.result(),
						"GID: 253:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01")
				}
				if extra == "-a" {
					require.Contains(t, client.result(), "\n 8388608 ")
				}
			})
		}
	}
}

// With -R nothing is sent over TCP.
func TestCMNoTCP(t *testing.T) {
	w := newEndsCM(t)
	server := start(t, writeBW, append([]string{"-n", "100"}, w.server...)...)
	server.says("Please run")
	sockets, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp6", server.Process.Pid))
	require.NoError(t, err)
	require.NotContains(t, string(sockets), fmt.Sprintf(":%04X ", w.port))
	client := start(t, writeBW, append(append([]string{"-n", "100"}, w.client...), "10.0.0.1")...)
	require.Zero(t, client.ends(patience), client.result())
	require.Zero(t, server.ends(patience), server.result())
}

// A client that finds no server reports it after --connect-timeout.
func TestCMNoServer(t *testing.T) {
	for name, c := range map[string]struct{ host, port, says string }{
		"nobody has the address": {"10.0.0.9", "18515", "no reply from 10.0.0.9 on port memif:"},
		"nobody listens there": {"10.0.0.1", "18516",
			"no server with --rdma_cm: goroce: dial 10.0.0.1:18516 by RDMA CM"},
		"no way leads there":      {"192.0.2.1", "18515", "no gateway"},
		"a family that it is not": {"fd77::1", "18515", "no gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEndsCM(t)
			server := start(t, writeBW, append(w.server, "-p", "18515")...)
			server.says("Please run")
			client := start(t, writeBW,
				append(append(w.client, "-p", c.port, "--connect-timeout", "1500ms"), c.host)...)
			require.Equal(t, cli.Failed, client.ends(patience))
			require.Contains(t, client.result(), c.says)
			require.NoError(t, server.Process.Signal(os.Interrupt))
			require.Equal(t, 128+int(syscall.SIGINT), server.ends(soon))
		})
	}
}

// A client retries while nobody listens: perftest's server listens anew between its connections.
func TestCMClientRetries(t *testing.T) {
	var hosts [2]*goroce.Host
	for i := range hosts {
		h, err := goroce.Open("loop:"+t.Name(), goroce.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		hosts[i] = h
	}
	server, client := hosts[0], hosts[1]
	_, err := server.ListenCM(1) // starts its connection manager
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	m := &manager{x: &session{settings: &Settings{Device: "loop:"}, host: client},
		server: netip.AddrPortFrom(server.Addrs()[0].Addr(), 7)}
	tries, served := 0, make(chan error, 1)
	conn, err := m.dial(ctx, func() (goroce.CMParams, error) {
		if tries++; tries == 3 {
			l, err := server.ListenCM(7)
			require.NoError(t, err)
			go func() {
				_, err := (&manager{x: &session{host: server}, listener: l}).accept(ctx)
				served <- err
			}()
		}
		c, err := newControl(client)
		return c.params(), err
	})
	require.NoError(t, err)
	require.NoError(t, <-served)
	require.Equal(t, 3, tries)
	require.NoError(t, conn.Disconnect(ctx))
}

// A server's port is open before the server listens. A request that arrives in between is rejected,
// so that the client retries at once. If it were lost, the client would repeat it after 6 s.
func TestCMRequestBeforeListen(t *testing.T) {
	url := "loop:" + t.Name()
	server := &session{server: true, settings: &Settings{Device: url, CM: true, Queues: 1}}
	require.NoError(t, server.open(slog.New(slog.DiscardHandler)))
	t.Cleanup(func() { require.NoError(t, server.close()) })
	client, err := goroce.Open(url, goroce.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	c, err := newControl(client)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = client.DialCM(ctx, netip.AddrPortFrom(server.host.Addrs()[0].Addr(), 7), c.params())
	require.True(t, isNotListening(err), "%v", err)
}

// A killed peer is detected by its silence.
func TestCMPeerDies(t *testing.T) {
	for _, victim := range []string{"client", "server"} {
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			t.Run(fmt.Sprint(victim, " ", signal), func(t *testing.T) {
				t.Parallel()
				w := newEndsCM(t)
				args := []string{"-s", "64", "-n", "1000000000", "--idle", "sleep"}
				server := start(t, writeBW, append(args, w.server...)...)
				client := start(t, writeBW, append(append(args, w.client...), "10.0.0.1")...)
				for _, p := range []*program{client, server} {
					p.says("#bytes")
				}
				dead, alive := client, server
				if victim == "server" {
					dead, alive = server, client
				}
				require.NoError(t, dead.Process.Signal(signal))
				require.Equal(t, cli.Failed, alive.ends(peerTimeout+heartbeat+2*farewell+soon),
					alive.result())
				require.Contains(t, alive.result(), ErrPeerGone.Error())
			})
		}
	}
}

// A different number of queue pairs shows as a connection that is rejected or missing. The server
// waits for longer than the client: had both the same timeout, the server might be the first to
// give up, and the client would report that its peer is gone.
func TestCMMismatch(t *testing.T) {
	w := newEndsCM(t)
	args := append(slices.Clone(w.client), "-q", "2", "--connect-timeout", "4s", "10.0.0.1")
	client := start(t, writeBW, args...)
	server := start(t, writeBW, append(w.server, "--connect-timeout", "1m")...)
	for _, p := range []*program{client, server} {
		require.Equal(t, cli.Failed, p.ends(patience), p.result())
	}
	require.Contains(t, client.result(), "queue pair 2 of 2 (does the peer use --qp 2?): "+
		"not connected after --connect-timeout 4s (no server with --rdma_cm: ")
}

func TestCMRefuses(t *testing.T) {
	for line, says := range map[string]string{
		"-d null: -c UC":             "--connection UC: not supported with --rdma_cm",
		"-d null: -c UD":             "--connection UD: want RC with --rdma_cm, or no --rdma_cm",
		"-d loop:":                   "--rdma_cm: want a port other than loop:",
		"-d null: --data_validation": "--data_validation: not supported with --rdma_cm",
		"-d null: localhost": "localhost: with --rdma_cm want the RoCE address " +
			"of the server's port",
		"-d null: --ip 10.0.0.1/24 --ip fd00::1/64 -x 1": "--gid-index, --ipv6: with --rdma_cm",
	} {
		_, err := parse(sendBW, append([]string{"-R"}, strings.Fields(line)...))
		require.ErrorContains(t, err, says, line)
	}
	s, err := parse(sendBW, strings.Fields("-d null: --rdma_cm -T 104 10.0.0.1"))
	require.NoError(t, err)
	require.True(t, s.CM)
	require.Equal(t, 104, s.TrafficClass)
}

// A control connection may carry any bytes.
func TestCMServerReceivesGarbage(t *testing.T) {
	for name, c := range map[string]struct {
		says   []string
		answer string
	}{
		"text": {[]string{"GET / HTTP/1.1\r\n\r\n"},
			"does not speak perftest's handshake"},
		"an older perftest": {[]string{"5.00" + strings.Repeat("\x00", 12)},
			"the peer's perftest is too old"},
		"more than a message": {[]string{strings.Repeat("6.06", 1000)},
			"does not speak perftest's handshake"},
		"more than it takes": {[]string{"6.06" + strings.Repeat("\x00", 12),
			strings.Repeat("x", 5000)}, "control connection to 10.0.0.2"},
		"many messages at once": {[]string{"6.06", "\x00\x00", strings.Repeat("\x00", 20), "9", "",
			"8"}, "does not speak perftest's handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEndsCM(t)
			server := start(t, writeBW, append([]string{"--connect-timeout", "3s"}, w.server...)...)
			server.says("Please run")
			garbage(t, w, c.says)
			require.Equal(t, cli.Failed, server.ends(patience), server.result())
			require.Contains(t, server.result(), c.answer)
		})
	}
}

// garbage sends messages to a server's control connection.
func garbage(t *testing.T, w ends, says []string) {
	url := w.client[7]
	host, err := goroce.Open(url,
		goroce.Options{Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = host.Close() })
	x := &session{settings: &Settings{Device: url}, host: host}
	m := &manager{x: x, server: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(w.port))}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := m.connect(ctx)
	require.NoError(t, err)
	c := conn.(*control)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.do(func(*transport.Endpoint) error {
		at := 4 * controlMsgSize // behind the receive buffers' responses
		for _, text := range says {
			copy(c.in.Bytes()[at:], text)
			if err := c.qp.PostSend(&transport.WorkRequest{Op: transport.OpSend,
				SGList: []transport.SGE{c.in.SGE(at, len(text))}}); err != nil {
				return err
			}
			at += len(text)
		}
		return nil
	}))
}
