package dpdk_test

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/dpdktest"
)

// openAndClose is the other process of TestMemifBothEndsClose: it opens the port url at an "o" on
// its standard input and closes it at a "c", and repeats each when it is done.
func openAndClose(url string) error {
	var d *dpdk.Device
	in := bufio.NewReader(os.Stdin)
	for {
		order, err := in.ReadByte()
		switch {
		case err != nil:
			return nil
		case order == 'o':
			d, err = dpdk.Open(url, dpdk.Options{})
		default:
			err = d.Close()
		}
		if err != nil {
			return err
		}
		os.Stdout.Write([]byte{order})
	}
}

// closer starts the other process. order sends an order, done waits until it has been executed.
func closer(t *testing.T, url string) (order func(byte), done func()) {
	t.Helper()
	cmd := dpdktest.Command("closer", url)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		require.NoError(t, cmd.Wait())
	})
	return func(b byte) {
			_, err := in.Write([]byte{b})
			require.NoError(t, err)
		}, func() {
			_, err := io.ReadFull(out, make([]byte, 1))
			require.NoError(t, err, "the other process died")
		}
}

// closeRaces returns how many times the ends of a memif close together; test/chaos repeats it more
// often.
func closeRaces(t *testing.T) int {
	n := 150
	if s := os.Getenv("GOROCE_CLOSE_RACES"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	return n
}

func TestMemifBothEndsClose(t *testing.T) {
	for _, role := range []struct{ name, ours, theirs string }{
		{"server", "", ",client"}, {"client", ",client", ""},
	} {
		t.Run(role.name, func(t *testing.T) {
			url := "memif:" + filepath.Join(t.TempDir(), "s")
			order, done := closer(t, url+role.theirs)
			var descriptors int
			var heap uint64
			for i := range closeRaces(t) {
				order('o')
				d, err := dpdk.Open(url+role.ours, dpdk.Options{})
				require.NoError(t, err)
				done()
				awaitLink(t, d, true)
				order('c')
				for began := time.Now(); time.Since(began) < time.Duration(rand.IntN(400))*
					time.Microsecond; {
				}
				require.NoError(t, d.Close())
				done()
				if i == 20 {
					descriptors, heap = openDescriptors(t), eal.HeapInUse()
				}
			}
			require.LessOrEqual(t, openDescriptors(t), descriptors+2,
				"EAL makes an epoll descriptor now and then")
			require.LessOrEqual(t, eal.HeapInUse(), heap+1<<16)
		})
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// TestMemifServerHangsUpOnWaitingClients closes a server with two clients: one that it accepted and
// that has sent nothing, and one in its backlog or just accepted.
func TestMemifServerHangsUpOnWaitingClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	before := openDescriptors(t)
	for range 50 {
		d, err := dpdk.Open("memif:"+path, dpdk.Options{})
		require.NoError(t, err)
		clients := []*net.UnixConn{connect(t, path), connect(t, path)}
		hello := make([]byte, 128)
		_, err = clients[0].Read(hello)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		for _, c := range clients {
			c.SetReadDeadline(time.Now().Add(time.Minute))
			n, err := c.Read(hello)
			if n > 0 {
				_, err = c.Read(hello)
			}
			require.Error(t, err)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			c.Close()
		}
		require.NoFileExists(t, path)
	}
	require.LessOrEqual(t, openDescriptors(t), before+4)
}

// connect opens a memif client's connection and sends nothing.
func connect(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	require.NoError(t, err)
	return c
}

// TestMemifClientDoesNotWaitInTheBacklog: a server that does not accept must not block the control
// of all ports of the client's process.
func TestMemifClientDoesNotWaitInTheBacklog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}))
	require.NoError(t, syscall.Listen(fd, 0)) // a backlog of one
	defer connect(t, path).Close()
	d, err := dpdk.Open("memif:"+path+",client", dpdk.Options{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

func TestChildrenInheritNoDescriptors(t *testing.T) {
	url := "memif:" + filepath.Join(t.TempDir(), "s")
	dpdktest.Open(t, "null:", dpdk.Options{})
	for _, role := range []struct{ ours, theirs string }{{"", ",client"}, {",client", ""}} {
		d, err := dpdk.Open(url+role.ours, dpdk.Options{})
		require.NoError(t, err)
		stop, _ := echo(t, url+role.theirs)
		awaitLink(t, d, true)
		pingPong(t, d.Queue(0), 1, 100)
		out, err := exec.Command("ls", "-l", "/proc/self/fd").Output()
		require.NoError(t, err)
		require.NotRegexp(t, `socket:|memfd:|eventfd|eventpoll|timerfd|tun`, string(out))
		require.NoError(t, stop())
		require.NoError(t, d.Close())
	}
}

func TestChildrenInheritNoRawSocket(t *testing.T) {
	d, err := dpdk.Open("af_packet:lo", dpdk.Options{})
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("the system does not permit raw sockets: ", err)
	}
	require.NoError(t, err)
	out, err := exec.Command("ls", "-l", "/proc/self/fd").Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), "socket:")
	require.NoError(t, d.Close())
}
