package perftest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/cli"
)

const (
	// soon is the limit for "within a second or two" on a machine with other load.
	soon = 3 * time.Second
	// patience is the limit of what ends by itself. On a machine with other load every message may
	// wait for a slice of the scheduler; a run that exceeds this waits for something else.
	patience = 2 * time.Minute
)

// program is a process that runs a test.
type program struct {
	*exec.Cmd
	t      *testing.T
	mu     sync.Mutex
	out    bytes.Buffer
	errs   bytes.Buffer
	lines  chan string // of standard output
	exited chan struct{}
}

func start(t *testing.T, test Test, args ...string) *program {
	t.Helper()
	p := &program{t: t, Cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 1000),
		exited: make(chan struct{})}
	p.Env = append(os.Environ(), asProgram+"="+test.Name())
	p.Stderr = &p.errs
	pipe, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	go func() {
		r := bufio.NewScanner(io.TeeReader(pipe, &lockedWriter{&p.mu, &p.out}))
		for r.Scan() {
			select {
			case p.lines <- r.Text():
			default:
			}
		}
		close(p.lines)
		_ = p.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.exited
	})
	return p
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// says waits until the program prints a line that contains text.
func (p *program) says(text string) {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				<-p.exited
				p.t.Fatalf("ended without printing %q: %s", text, p.errs.String())
			}
			if strings.Contains(l, text) {
				return
			}
		case <-timeout:
			p.t.Fatalf("did not print %q", text)
		}
	}
}

// ends waits for the exit code.
func (p *program) ends(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		_ = p.Process.Signal(syscall.SIGQUIT) // prints the stacks of its goroutines
		select {
		case <-p.exited:
		case <-time.After(soon):
		}
		p.t.Fatalf("%v still running after %v: %s", p.Args[1:], within, p.errs.String())
	}
	return p.ProcessState.ExitCode()
}

func (p *program) result() string {
	<-p.exited
	return p.out.String() + p.errs.String()
}

// ends holds the flags of two ends with a memif and a TCP port of their own.
type ends struct {
	server, client []string
	port           int
}

func newEnds(t *testing.T) ends {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	dir, err := os.MkdirTemp("", "perftest") // t.TempDir is too long for a socket path
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	url := "memif:" + filepath.Join(dir, "m.sock")
	// Other tests may keep either end off its core for long.
	common := []string{"-p", strconv.Itoa(port), "--connect-timeout", "10s", "-u", "18"}
	return ends{port: port, server: append(common[:6:6], "-d", url),
		client: append(common[:6:6], "-d", url+",client", "localhost")}
}

// Both ends start at once. Each test runs with validation, and both ends exit with 0 and the same
// row.
func TestTwoProcesses(t *testing.T) {
	for _, test := range everyTest {
		for _, extra := range []string{"", "-b", "-c UC", "-c UD"} {
			switch {
			case extra == "-b" && test.Kind == Latency, extra == "-c UC" && test.isOneSided(),
				extra == "-c UD" && test.Verb != Send:
				continue
			}
			t.Run(test.Name()+extra, func(t *testing.T) {
				w := newEnds(t)
				args := append(strings.Fields(extra), "-n", "300", "--data_validation")
				if test.Verb != Atomic {
					args = append(args, "-s", "2000")
				}
				client := start(t, test, append(args, w.client...)...)
				server := start(t, test, append(args, w.server...)...)
				require.Zero(t, client.ends(patience), client.result())
				require.Zero(t, server.ends(patience), server.result())
				require.Contains(t, server.result(), "Waiting for client to connect")
				row := regexpRow(t, client.result())
				require.Equal(t, "300", row[1])
				require.Equal(t, row[0], regexpRow(t, server.result())[0])
				if extra == "" && test.Verb != Send {
					require.Equal(t, row, regexpRow(t, server.result()))
				}
			})
		}
	}
}

func TestMismatchIsReportedAtBothEnds(t *testing.T) {
	w := newEnds(t)
	server := start(t, writeBW, append([]string{"-s", "64", "-n", "10"}, w.server...)...)
	client := start(t, writeBW, append([]string{"-q", "2", "-n", "10"}, w.client...)...)
	for p, says := range map[*program][]string{
		server: {"--size is 64 here and 65536 at the peer", "--qp is 1 here and 2 at the peer"},
		client: {"--size is 65536 here and 64 at the peer", "--qp is 2 here and 1 at the peer"},
	} {
		require.Equal(t, cli.Failed, p.ends(patience))
		for _, text := range says {
			require.Contains(t, p.result(), text)
		}
	}
}

func TestNoServer(t *testing.T) {
	w := newEnds(t)
	client := start(t, writeBW, "-p", fmt.Sprint(w.port), "-d", "null:", "--connect-timeout", "2s",
		"localhost")
	require.Equal(t, cli.Failed, client.ends(patience))
	require.Contains(t, client.result(), fmt.Sprintf("no server at localhost:%d", w.port))
}

func TestServerThatIsNotGoroce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n")
		}
	}()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	client := start(t, writeBW, "-p", port, "-d", "null:", "localhost")
	require.Equal(t, cli.Failed, client.ends(patience))
	require.Contains(t, client.result(), "does not speak perftest's handshake")
}

// A server that accepts and stays silent.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	client := start(t, writeBW, "-p", port, "-d", "null:", "--connect-timeout", "500ms",
		"localhost")
	require.Equal(t, cli.Failed, client.ends(patience))
	require.Contains(t, client.result(), "not connected after --connect-timeout 500ms")
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	server := start(t, writeBW, "-p", fmt.Sprint(port), "-d", "null:")
	require.Equal(t, cli.Failed, server.ends(soon))
	require.Contains(t, server.result(), fmt.Sprintf("--port %d: ", port))
	require.Contains(t, server.result(), "address already in use")
}

// A port scan does not end the server.
func TestProbeIsIgnored(t *testing.T) {
	w := newEnds(t)
	server := start(t, writeBW, append([]string{"-n", "100"}, w.server...)...)
	server.says("Waiting")
	c, err := net.Dial("tcp", fmt.Sprintf("localhost:%d", w.port))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	client := start(t, writeBW, append([]string{"-n", "100"}, w.client...)...)
	require.Zero(t, client.ends(patience), client.result())
	require.Zero(t, server.ends(patience), server.result())
}

func TestPeerVanishes(t *testing.T) {
	for _, test := range []Test{writeBW, sendBW, readBW, writeLat, sendLat} {
		for _, victim := range []string{"server", "client"} {
			t.Run(test.Name()+" "+victim, func(t *testing.T) {
				w := newEnds(t)
				server := start(t, test, append([]string{"-D", "60"}, w.server...)...)
				client := start(t, test, append([]string{"-D", "60"}, w.client...)...)
				client.says("#bytes")
				time.Sleep(100 * time.Millisecond)
				dead, left := server, client
				if victim == "client" {
					dead, left = client, server
				}
				require.NoError(t, dead.Process.Kill())
				require.Equal(t, cli.Failed, left.ends(soon))
				// on a busy machine before the test has begun
				require.Regexp(t, "the peer (vanished|closed the connection)", left.result())
			})
		}
	}
}

func TestInterrupt(t *testing.T) {
	w := newEnds(t)
	server := start(t, writeBW, w.server...)
	server.says("Waiting")
	require.NoError(t, server.Process.Signal(os.Interrupt))
	require.Equal(t, 128+int(syscall.SIGINT), server.ends(soon))
	require.Contains(t, server.result(), "interrupted")

	// Both ends of a loop: the table, and a document of what was measured until then.
	file := filepath.Join(t.TempDir(), "run.json")
	both := start(t, writeBW, "-D", "60", "-f", "0", "--out_json_file="+file)
	both.says("#bytes")
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, both.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 128+int(syscall.SIGTERM), both.ends(soon))
	require.Contains(t, both.result(), " 65536 ")
	require.Contains(t, both.result(), "retransmits 0")
	d := readDocument(t, file)
	require.Equal(t, true, d["interrupted"])
	require.Len(t, d["results"], 1)

	for name, first := range map[string]int{"client": 1, "server": 0} {
		t.Run(name, func(t *testing.T) {
			var files [2]string
			var ends [2]*program
			w := newEnds(t)
			for i, args := range [][]string{w.server, w.client} {
				files[i] = filepath.Join(t.TempDir(), "run.json")
				ends[i] = start(t, sendBW, append([]string{"-D", "60", "-f", "0",
					"--tx-depth", "16", "--out_json_file=" + files[i]}, args...)...)
			}
			ends[1].says("#bytes")
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, ends[first].Process.Signal(os.Interrupt))
			require.Equal(t, 128+int(syscall.SIGINT), ends[first].ends(soon))
			require.Equal(t, cli.Failed, ends[1-first].ends(soon))
			require.Regexp(t, "the peer (vanished|reports: interrupted)", ends[1-first].result())
			for i := range ends {
				require.Contains(t, ends[i].result(), " 65536 ")
				d := readDocument(t, files[i])
				require.Equal(t, true, d["interrupted"])
				require.Len(t, d["results"], 1)
			}
		})
	}
}

func readDocument(t *testing.T, file string) (d map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

// A timed run whose messages take longer than it ends on time, at both ends.
func TestDurationEndsOnTime(t *testing.T) {
	for _, test := range []Test{writeBW, sendBW, writeLat} {
		t.Run(test.Name(), func(t *testing.T) {
			w := newEnds(t)
			args := []string{"-D", "1", "-s", "65536", "--cc", "fixed:rate=100kb/s"}
			server := start(t, test, append(args, w.server...)...)
			client := start(t, test, append(args, w.client...)...)
			client.says("#bytes")
			for _, p := range []*program{client, server} {
				require.Zero(t, p.ends(soon), p.result())
			}
			if test.Kind == Bandwidth {
				require.Contains(t, client.result(), "cut off at the end 128")
			}
		})
	}
}

// A row appears each second until the interruption.
func TestRunInfinitely(t *testing.T) {
	p := start(t, writeBW, "--run_infinitely", "-D", "0.2", "-q", "2")
	for range 3 {
		p.says(" 65536 ")
	}
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, 128+int(syscall.SIGINT), p.ends(soon))
	require.Contains(t, p.result(), "retransmits")
}

// The ends connect over TCP, but their ports are not connected.
func TestNoLink(t *testing.T) {
	a, b := newEnds(t), newEnds(t)
	args := []string{"--connect-timeout", "3s", "-p", fmt.Sprint(a.port)}
	server := start(t, writeBW, append(a.server, args...)...)
	client := start(t, writeBW, append(b.client, args...)...)
	for _, p := range []*program{client, server} {
		require.Equal(t, cli.Failed, p.ends(patience))
	}
	require.Contains(t, client.result()+server.result(), "is the other end open?")
}
