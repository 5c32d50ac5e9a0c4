package goroce

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/faults"
	"github.com/goroce/goroce/transport"
)

// removalLimit is for how long a connection may outlive its port: its retry limits are some
// seconds.
const removalLimit = 30 * time.Second

// safeBuffer is a log that several goroutines write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// opened opens a host, which the test closes.
func opened(t *testing.T, url string) (h *Host, port faults.Port, log *safeBuffer) {
	log = &safeBuffer{}
	port = faults.PortOf(t, func() {
		var err error
		h, err = Open(url, Options{Log: slog.New(slog.NewTextHandler(log, nil))})
		require.NoError(t, err)
	})
	return h, port, log
}

// streamOn sends and receives until the connection ends, and returns why. It calls arrived when the
// first message comes.
func streamOn(c *Conn, arrived func()) error {
	var sender sync.WaitGroup
	sender.Go(func() {
		for c.Send(context.Background(), make([]byte, 3000)) == nil {
		}
	})
	defer sender.Wait()
	buf := make([]byte, MaxMessage)
	for i := 0; ; i++ {
		if _, err := c.Recv(context.Background(), buf); err != nil {
			return err
		}
		if i == 0 {
			arrived()
		}
	}
}

// serve streams to every client, one after another, and reports why each connection ended. It
// closes them all at the end, so that none ends because its peer closed.
func serve(l *Listener, ended func(error)) {
	for {
		c, err := l.Accept(context.Background())
		if err != nil {
			return
		}
		defer c.Close()
		ended(streamOn(c, func() {}))
	}
}

// streamer is a host that serves, at the other end of a port.
type streamer struct {
	addr  string
	ended <-chan string // why each connection ended
	stop  func() error
}

// newStreamer returns a streamer in this process.
func newStreamer(url string) (streamer, error) {
	h, err := Open(url, Options{})
	if err != nil {
		return streamer{}, err
	}
	l, err := h.Listen("127.0.0.1:0")
	if err != nil {
		return streamer{}, errors.Join(err, h.Close())
	}
	ended := make(chan string, 2)
	go serve(l, func(err error) { ended <- err.Error() })
	return streamer{l.Addr().String(), ended, h.Close}, nil
}

// here returns a streamer in this process.
func here(t *testing.T, url string) streamer {
	s, err := newStreamer(url)
	require.NoError(t, err)
	return s
}

// streamerEnv is set in the process that TestPortIsRemovedUnderTraffic starts, to the URL of its
// port.
const streamerEnv = "GOROCE_TEST_STREAMER"

// TestMain runs the tests, or in that process a streamer.
func TestMain(m *testing.M) {
	url, is := os.LookupEnv(streamerEnv)
	if !is {
		os.Exit(m.Run())
	}
	if err := streamHere(url); err != nil {
		fmt.Fprintln(os.Stderr, "streamer:", err)
		os.Exit(1)
	}
}

// streamHere serves at a port until the standard input ends, and prints its address first.
func streamHere(url string) error {
	s, err := newStreamer(url)
	if err != nil {
		return err
	}
	fmt.Println(s.addr)
	go func() {
		for why := range s.ended {
			fmt.Println(why)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.stop()
}

// elsewhere returns a streamer in a process of its own.
func elsewhere(t *testing.T, url string) streamer {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), streamerEnv+"="+url), os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	addr, ended := lines.Text(), make(chan string, 8)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			ended <- lines.Text()
		}
	}()
	return streamer{addr, ended, func() error {
		in.Close()
		<-read
		return cmd.Wait()
	}}
}

// TestPortIsRemovedUnderTraffic removes one host's port while both send.
func TestPortIsRemovedUnderTraffic(t *testing.T) {
	memif := "memif:" + t.TempDir() + "/s"
	for _, c := range []struct {
		name, ours, theirs string
		peer               func(t *testing.T, url string) streamer
	}{
		{"loop", "loop:removed", "loop:removed", here},
		{"memif server", memif, memif + ",client", elsewhere},
		{"memif client", memif + ",client", memif, elsewhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before faults.Census
			for i := range 2 { // the first for what EAL, the driver and Go keep for ever
				peer := c.peer(t, c.theirs)
				removedUnderTraffic(t, c.ours, peer)
				replugged(t, c.ours, peer)
				require.NoError(t, peer.stop())
				if i == 0 {
					before = faults.Count(t).Plus(faults.Census{Heap: 1 << 10})
				}
			}
			faults.Unchanged(t, before, c.name)
		})
	}
}

// dialStreamer returns a connection by which something has arrived, and a channel that reports why
// it ended.
func dialStreamer(t *testing.T, h *Host, s streamer) (*Conn, <-chan error) {
	ctx, cancel := context.WithTimeout(context.Background(), removalLimit)
	defer cancel()
	c, err := h.Dial(ctx, s.addr)
	require.NoError(t, err)
	arrived, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- streamOn(c, func() { close(arrived) }) }()
	select {
	case <-arrived:
	case <-ctx.Done():
		t.Fatal("nothing arrives")
	}
	return c, ended
}

func removedUnderTraffic(t *testing.T, url string, peer streamer) {
	h, port, log := opened(t, url)
	l, err := h.Listen("127.0.0.1:0")
	require.NoError(t, err)
	waiting := make(chan error, 2)
	go func() {
		_, err := l.Accept(context.Background())
		waiting <- err
	}()
	go func() {
		_, err := h.Dial(context.Background(), "127.0.0.1:1") // nobody listens there
		waiting <- err
	}()
	c, ended := dialStreamer(t, h, peer)
	port.Remove(t)
	for range 2 {
		require.ErrorIs(t, <-waiting, dpdk.ErrRemoved)
	}
	refuses(t, h)
	limit := time.After(removalLimit)
	for range 2 {
		select {
		case err := <-ended:
			require.ErrorContains(t, err, transport.StatusRetryExcErr.String())
		case why := <-peer.ended:
			require.Contains(t, why, transport.StatusRetryExcErr.String())
		case <-limit:
			t.Fatal("a connection outlives its port")
		}
	}
	began := time.Now()
	require.NoError(t, l.Close())
	require.NoError(t, c.Close())
	require.NoError(t, h.Close())
	require.Less(t, time.Since(began), removalLimit)
	require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
}

// replugged asserts that a port opened in the place of the removed one works.
func replugged(t *testing.T, url string, peer streamer) {
	h, _, _ := opened(t, url)
	c, ended := dialStreamer(t, h, peer)
	require.NoError(t, c.Abort())
	<-ended
	<-peer.ended
	require.NoError(t, h.Close())
}

// refuses asserts that a host whose port has been removed begins nothing.
func refuses(t *testing.T, h *Host) {
	t.Helper()
	_, err := h.Dial(context.Background(), "127.0.0.1:1")
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	_, err = h.Listen("127.0.0.1:0")
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	_, err = h.ListenCM(cmPort)
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	end := newCMEnd(t, h, 0, transport.RC)
	_, err = h.DialCM(context.Background(), netip.AddrPortFrom(h.Addrs()[0].Addr(), cmPort),
		end.params(""))
	require.ErrorIs(t, err, dpdk.ErrRemoved)
}

// TestIdlePortIsRemoved: a host without traffic learns of the removal, too.
func TestIdlePortIsRemoved(t *testing.T) {
	opens(t, "null:")
	before := faults.Count(t).Plus(faults.Census{Heap: 1 << 10})
	h, port, log := opened(t, "null:")
	l, err := h.ListenCM(cmPort)
	require.NoError(t, err)
	port.Remove(t)
	_, err = l.Accept(context.Background())
	require.ErrorIs(t, err, dpdk.ErrRemoved)
	refuses(t, h)
	require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
	require.NoError(t, l.Close())
	require.NoError(t, h.Close())
	faults.Unchanged(t, before, "closed")
}
