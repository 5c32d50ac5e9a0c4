package dpdk_test

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/packet"
)

// echoFrames is the other process of the memif tests: it opens the port url and sends every frame
// back, until its standard input ends.
func echoFrames(url string) error {
	d, err := dpdk.Open(url, dpdk.Options{})
	if err != nil {
		return err
	}
	os.Stdout.WriteString("open\n")
	unregister, err := dpdk.Register(dpdk.AnyCPU)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	q, bufs := d.Queue(0), make([]packet.Buf, packet.Burst)
	for {
		select {
		case <-ended:
			unregister()
			return d.Close()
		default:
		}
		n := q.Recv(bufs)
		q.Free(bufs[q.Send(packet.ClassData, bufs[:n]):n])
		if n == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// echo starts another process that opens the port url and echoes.
func echo(t *testing.T, url string) (stop func() error, kill func()) {
	t.Helper()
	cmd := dpdktest.Command("echo", url)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	text := make([]byte, 5)
	_, err = io.ReadFull(out, text)
	require.NoError(t, err)
	require.Equal(t, "open\n", string(text))
	kill = sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
	t.Cleanup(kill)
	return func() error { in.Close(); return cmd.Wait() }, kill
}

func awaitLink(t *testing.T, d *dpdk.Device, up bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		link, err := d.Link()
		return err == nil && link.Up == up
	}, 5*time.Second, time.Millisecond)
}

// pingPong sends n frames and waits for each to come back. It polls first: a memif client gives its
// server buffers as it polls, and the other process drops what it has no buffer for.
func pingPong(t *testing.T, q *dpdk.Queue, n, size int) {
	t.Helper()
	bufs := make([]packet.Buf, packet.Burst)
	q.Free(bufs[:q.Recv(bufs)])
	for i := range n {
		frame := make([]byte, size)
		for j := range frame {
			frame[j] = byte(i + j)
		}
		frame[12], frame[13] = 0x88, 0xb5
		send(t, q, frame)
		require.Equal(t, frame, await(t, q, isHello))
	}
}

func TestMemifBetweenTwoProcesses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	for _, role := range []struct{ ours, theirs string }{{"", ",client"}, {",client", ""}} {
		d, err := dpdk.Open("memif:"+socket+role.ours, dpdk.Options{})
		require.NoError(t, err, "a client may come before its server")
		link, err := d.Link()
		require.NoError(t, err)
		require.False(t, link.Up)
		require.Zero(t, d.Queue(0).Recv(make([]packet.Buf, 1)))
		stop, _ := echo(t, "memif:"+socket+role.theirs)
		awaitLink(t, d, true)
		require.GreaterOrEqual(t, int(d.Info().MTU), 4096+120)
		pingPong(t, d.Queue(0), 600, int(d.Info().MTU)+14)
		require.NoError(t, stop())
		awaitLink(t, d, false)
		free(t, d, dpdk.DefaultBuffers)
		require.NoError(t, d.Close())
	}
}

// TestMemifWithinOneProcess opens both ends in either order.
func TestMemifWithinOneProcess(t *testing.T) {
	for _, roles := range [][2]string{{"", ",client"}, {",client", ""}} {
		url := "memif:" + filepath.Join(t.TempDir(), "s")
		var ends [2]*dpdk.Device
		for i, role := range roles {
			ends[i] = dpdktest.Open(t, url+role, dpdk.Options{})
		}
		for _, d := range ends {
			awaitLink(t, d, true)
			// a client gives its server buffers as it polls
			require.Zero(t, d.Queue(0).Recv(make([]packet.Buf, 1)))
		}
		frame := make([]byte, 100)
		frame[12], frame[13] = 0x88, 0xb5
		for i := range 10 {
			frame[20] = byte(i)
			for from, d := range ends {
				send(t, d.Queue(0), frame)
				require.Equal(t, frame, await(t, ends[1-from].Queue(0), isHello))
			}
		}
		for _, d := range ends {
			require.NoError(t, d.Close())
		}
	}
}

// TestMemifClientBeforeServerOfOneSocket opens a client on an abstract socket, whose name cannot be
// spelled differently, and then a server in the same process.
func TestMemifClientBeforeServerOfOneSocket(t *testing.T) {
	url := "memif:" + t.Name() + ",socket-abstract=yes"
	client := dpdktest.Open(t, url+",client", dpdk.Options{})
	_, err := dpdk.Open(url, dpdk.Options{})
	require.ErrorContains(t, err, "open the server first")
	require.NoError(t, client.Close())
	dpdktest.Open(t, url, dpdk.Options{})
}

func TestMemifClientWithoutServerCloses(t *testing.T) {
	d := dpdktest.Open(t, "memif:"+filepath.Join(t.TempDir(), "s,client"), dpdk.Options{})
	bufs := make([]packet.Buf, 4)
	require.Equal(t, 4, d.Queue(0).Alloc(bufs))
	require.Zero(t, d.Queue(0).Send(packet.ClassData, bufs))
	d.Queue(0).Free(bufs)
}

func TestMemifSocketInUseAndLeftBehind(t *testing.T) {
	url := "memif:" + filepath.Join(t.TempDir(), "s")
	stop, kill := echo(t, url)
	_ = stop
	_, err := dpdk.Open(url, dpdk.Options{})
	require.ErrorIs(t, err, dpdk.ErrInUse)
	kill()
	d := dpdktest.Open(t, url, dpdk.Options{})
	_, _ = echo(t, url+",client")
	awaitLink(t, d, true)
	pingPong(t, d.Queue(0), 10, 100)
	require.NoError(t, d.Close())
}

// TestMemifPeerDies kills the client repeatedly during traffic; the server accepts the next one.
func TestMemifPeerDies(t *testing.T) {
	url := "memif:" + filepath.Join(t.TempDir(), "s")
	d := dpdktest.Open(t, url, dpdk.Options{})
	q, bufs := d.Queue(0), make([]packet.Buf, packet.Burst)
	for range 5 {
		_, kill := echo(t, url+",client")
		awaitLink(t, d, true)
		pingPong(t, q, 10, 100)
		dead := time.AfterFunc(20*time.Millisecond, kill)
		flood(q, bufs)
		dead.Stop()
		awaitLink(t, d, false)
		free(t, d, dpdk.DefaultBuffers)
	}
}

// TestMemifServerDies kills the server while the client sends: the client connects to the next one.
func TestMemifServerDies(t *testing.T) {
	url := "memif:" + filepath.Join(t.TempDir(), "s")
	d := dpdktest.Open(t, url+",client", dpdk.Options{})
	q, bufs := d.Queue(0), make([]packet.Buf, packet.Burst)
	for range 3 {
		_, kill := echo(t, url)
		awaitLink(t, d, true)
		pingPong(t, q, 10, 100)
		dead := time.AfterFunc(20*time.Millisecond, kill)
		flood(q, bufs)
		dead.Stop()
		awaitLink(t, d, false)
		free(t, d, dpdk.DefaultBuffers)
	}
}

// flood sends and receives for a while.
func flood(q *dpdk.Queue, bufs []packet.Buf) {
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
		n := q.Alloc(bufs)
		for i := range bufs[:n] {
			bufs[i].SetLen(1000)
		}
		q.Free(bufs[q.Send(packet.ClassData, bufs[:n]):n])
		q.Free(bufs[:q.Recv(bufs)])
	}
}
