package rping

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/cc"
)

// Two polling cores never release their Ps: other goroutines need more.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	m.Run()
}

// The texts of Debian's rping (rdma-core 44).
func TestText(t *testing.T) {
	for _, c := range []struct {
		n, size int
		want    string
	}{
		{0, 64, "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr"},
		{1, 64, "rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs"},
		{57, 30, "rdma-ping-57: zABCDEFGHIJKLMN"},
		{58, 30, "rdma-ping-58: ABCDEFGHIJKLMNO"},
	} {
		b := make([]byte, c.size)
		writeText(b, c.n)
		require.Equal(t, c.want+"\x00", string(b))
		require.Equal(t, c.want, wordOf(b))
	}
	require.Equal(t, "no zero", wordOf([]byte("no zero")))
	for size := range 40 { // for any advertised size
		writeText(make([]byte, size+1), 1<<40)
	}
}

// An advert of rping's client, from a capture of two Linux hosts.
func TestAdvert(t *testing.T) {
	b, err := hex.DecodeString("0000556716e655c000003db800000040")
	require.NoError(t, err)
	a, err := parseAdvert(b)
	require.NoError(t, err)
	require.Equal(t, advert{0x556716e655c0, 0x3db8, 64}, a)
	again := make([]byte, advertLen)
	a.put(again)
	require.Equal(t, b, again)
	_, err = parseAdvert(b[:15])
	require.ErrorContains(t, err, "message of 15 bytes from the peer, want 16")
}

func TestSettings(t *testing.T) {
	for line, says := range map[string]string{
		"":                                        "want either -s (server) or -c (client)",
		"-s -c -d null:":                          "either -s",
		"-s -d loop:":                             "-d loop:: want a port to another",
		"-c -d null:":                             "want the server's address",
		"-c -a example -d null:":                  "-a: ",
		"-c -a 10.0.0.1":                          "-d: want a port",
		"-c -P -a 10.0.0.1 -d null:":              "-P: only for the server",
		"-s -d null: -S 25":                       "-S 25: want 26 to 65535",
		"-s -d null: -S 65536":                    "-S 65536",
		"-s -d null: -C -1":                       "-C -1",
		"-s -d null: -p 65536":                    "65536",
		"-s -d null: --ip 10.0.0.1":               "such as 10.0.0.1/24",
		"-s -d null: --gateway there":             "--gateway",
		"-s -d null: --idle doze":                 "doze",
		"-s -d null: --ip 10.0.0.1/24 --nonsense": "unknown flag",
		"-s -d null: --cc quick":                  `--cc: unknown algorithm "quick"`,
		"-s -d null: --cc hpcc":                   "--cc: hpcc needs INT",
	} {
		_, err := parse(strings.Fields(line))
		require.ErrorContains(t, err, says, "%q", line)
	}
	s, err := parse(strings.Fields("-c -a fd18::1 -d af_packet:eth0 --ip " +
		"198.18.0.101/24,fd18::101/64 -C 3 -S 100 -v -V -p 7000 --cc swift"))
	require.NoError(t, err)
	require.Len(t, s.addrs, 2)
	require.IsType(t, &cc.Swift{}, s.control())
	require.Equal(t, [3]int{3, 100, 7000}, [3]int{s.count, s.size, int(s.port)})
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, &out, io.Discard))
	require.Contains(t, out.String(), "with \"rping -s\"")
	require.Equal(t, 1, run(context.Background(), []string{"-s", "-d", "nonsense:"}, io.Discard,
		io.Discard))
}

// ends returns both ends of a loop.
func ends(t *testing.T) (server, client *goroce.Host) {
	var hosts [2]*goroce.Host
	for i := range hosts {
		h, err := goroce.Open("loop:"+t.Name(), goroce.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		hosts[i] = h
	}
	return hosts[0], hosts[1]
}

// serving runs a server until its client has left, or until stop is called.
func serving(t *testing.T, host *goroce.Host, flags string, stdout io.Writer) (done chan error,
	stop func()) {
	s, err := parse(strings.Fields("-s -d null: " + flags))
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(stop)
	done = make(chan error, 1)
	go func() { done <- s.serve(ctx, host, stdout, stdout) }()
	return done, stop
}

func pinging(t *testing.T, server, client *goroce.Host, flags string, stdout io.Writer) error {
	s, err := parse(strings.Fields(fmt.Sprintf("-c -d null: -a %v %s", server.Addrs()[0].Addr(),
		flags)))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		err := s.dial(ctx, client, stdout)
		if err != nil && strings.Contains(err.Error(), "nobody listens") && ctx.Err() == nil {
			continue // not yet
		}
		return err
	}
}

func TestPing(t *testing.T) {
	server, client := ends(t)
	var said, answered bytes.Buffer
	done, _ := serving(t, server, "-v -V", &said)
	require.NoError(t, pinging(t, server, client, "-C 70 -S 5000 -v -V", &answered))
	require.NoError(t, <-done)
	require.Equal(t, said.String(), strings.ReplaceAll(answered.String(), "ping data",
		"server ping data"))
	require.Equal(t, 70, strings.Count(said.String(), "\n"))
}

func TestPersistentServer(t *testing.T) {
	server, client := ends(t)
	done, stop := serving(t, server, "-P -V", io.Discard)
	const n = 4
	errs := make(chan error, n)
	for i := range n {
		go func() {
			errs <- pinging(t, server, client, fmt.Sprintf("-C 20 -V -S %d", 26+i), io.Discard)
		}()
	}
	for range n {
		require.NoError(t, <-errs)
	}
	stop()
	require.NoError(t, <-done)
}

func TestClientReportsTheServersEnd(t *testing.T) {
	server, client := ends(t)
	var stop func()
	_, stop = serving(t, server, "-v", writerFunc(func() { stop() }))
	require.ErrorIs(t, pinging(t, server, client, "", io.Discard), errLeft)
}

// writerFunc is called for each line written.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestServerOfAnotherAddress(t *testing.T) {
	server, _ := ends(t)
	done, _ := serving(t, server, "-a 10.1.2.3", io.Discard)
	require.ErrorContains(t, <-done, "-a 10.1.2.3: want an address of the port")
}
