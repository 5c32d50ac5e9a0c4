package verbs

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nobody is the user of daemons and programs in these tests, if they run as root.
const nobody = 65534

// testDaemon is a process of roced over a port without a network.
type testDaemon struct {
	t       *testing.T
	ctx     context.Context
	library string
	socket  string
	address string
	cmd     *exec.Cmd
}

// builtRoced builds roced once.
var builtRoced = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "roced")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "roced")
	out, err := exec.Command("go", "build", "-trimpath", "-o", path, "./roced").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, os.Chmod(dir, 0o755)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := builtRoced(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// startDaemon starts roced as a user without privileges.
func startDaemon(t *testing.T) *testDaemon {
	lib := library(t)
	for _, name := range []string{"rping", "ibv_rc_pingpong", "ibv_asyncwatch"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%v; 'scripts/setup verbs' installs it", err)
		}
	}
	path, err := builtRoced()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "roced") // t.TempDir is root's alone
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(dir, nobody, nobody))
	}
	d := &testDaemon{t: t, ctx: testContext(t), library: lib,
		socket: filepath.Join(dir, "roced.sock")}
	d.cmd = d.command(path, "-d", "loop:", "--socket", d.socket)
	output, err := d.cmd.StdoutPipe()
	require.NoError(t, err)
	d.cmd.Stderr = os.Stderr
	require.NoError(t, d.cmd.Start())
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		_ = d.cmd.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscanf(line, "roced: address %s on", &d.address)
	require.NoError(t, err, line)
	return d
}

// command returns a command of a user without privileges that uses the daemon.
func (d *testDaemon) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.ctx, name, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+d.library, "GOROCE_DAEMON="+d.socket)
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// background is a program that runs beside the test.
type background struct {
	*exec.Cmd
	output strings.Builder
	ended  chan error
}

func (d *testDaemon) start(name string, args ...string) *background {
	b := &background{Cmd: d.command(name, args...), ended: make(chan error, 1)}
	b.Stdout, b.Stderr = &b.output, &b.output
	require.NoError(d.t, b.Start())
	d.t.Cleanup(func() { _ = b.Process.Kill() })
	go func() { b.ended <- b.Wait() }()
	return b
}

// wait waits until the program has ended.
func (b *background) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-b.ended:
		return err
	case <-time.After(30 * time.Second):
		_ = b.Process.Kill()
		require.FailNow(t, "it does not end", "%v\n%s", b.Args, &b.output)
		return nil
	}
}

// pings runs rping's client until its server listens, and returns what it prints.
func (d *testDaemon) pings(count int, port string) (out []byte) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		var err error
		out, err = d.command("rping", "-c", "-a", d.address, "-p", port, "-v", "-C",
			fmt.Sprint(count)).CombinedOutput()
		return err == nil
	}, 40*time.Second, 100*time.Millisecond, "%s", &out)
	return out
}

// pingpong starts ibv_rc_pingpong at both ends.
func (d *testDaemon) pingpong(port string, args ...string) (server, client *background) {
	args = append(strings.Fields("-g 0 -c -p "+port), args...)
	server = d.start("ibv_rc_pingpong", args...)
	require.Eventually(d.t, func() bool { // until the server listens, without connecting to it
		text, err := os.ReadFile("/proc/net/tcp6")
		four, err4 := os.ReadFile("/proc/net/tcp")
		var number uint16
		_, scanErr := fmt.Sscan(port, &number)
		listens := fmt.Sprintf(":%04X ", number)
		return err == nil && err4 == nil && scanErr == nil &&
			strings.Contains(string(text)+string(four), listens)
	}, 20*time.Second, 20*time.Millisecond, "%s", &server.output)
	return server, d.start("ibv_rc_pingpong", append(args, "localhost")...)
}

// Two pairs of programs use the port of one daemon, without privileges.
func TestDaemon(t *testing.T) {
	d := startDaemon(t)
	server, client := d.pingpong("18534", "-n", "500")
	require.NoError(t, client.wait(t), client.output.String())
	require.NoError(t, server.wait(t), server.output.String())
	require.Contains(t, client.output.String(), "500 iters in")

	ping := d.start("rping", "-s", "-p", "7175")
	require.Contains(t, string(d.pings(100, "7175")), "ping data: rdma-ping-99")
	_ = ping.wait(t)
}

// A program that is killed is disconnected from its peer, and others go on.
func TestDaemonClientKilled(t *testing.T) {
	d := startDaemon(t)
	server, client := d.pingpong("18535", "-n", "3000")
	ping := d.start("rping", "-s", "-p", "7176")
	victim := d.start("rping", "-c", "-a", d.address, "-p", "7176", "-C", "100000000")
	require.Eventually(t, func() bool {
		select {
		case <-victim.ended: // its server did not listen yet
			victim = d.start("rping", "-c", "-a", d.address, "-p", "7176", "-C", "100000000")
		default:
		}
		return d.isBusy(victim)
	}, 20*time.Second, 200*time.Millisecond)
	require.NoError(t, victim.Process.Kill())
	_ = ping.wait(t) // its peer's memory is gone, or the connection: what it notices first
	require.Regexp(t, "DISCONNECT EVENT|cq completion failed status 1[012]", ping.output.String())

	require.NoError(t, client.wait(t), client.output.String())
	require.NoError(t, server.wait(t), server.output.String())
	again := d.start("rping", "-s", "-p", "7176")
	d.pings(10, "7176") // the port is free
	_ = again.wait(t)
}

// isBusy reports whether a program has run for a while: it is connected and sends pings.
func (d *testDaemon) isBusy(b *background) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.Process.Pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	return err == nil && user+system > 3
}

// Programs that wait when the daemon is killed get errors, and the event of a dead device.
func TestDaemonKilled(t *testing.T) {
	d := startDaemon(t)
	watch := d.start("ibv_asyncwatch")
	polling, _ := d.pingpong("18536", "-n", "100000000")
	waiting, _ := d.pingpong("18537", "-n", "100000000", "-e")
	listening := d.start("rping", "-s", "-p", "7177")
	require.Eventually(t, func() bool { return d.isBusy(polling) && d.isBusy(waiting) },
		20*time.Second, 50*time.Millisecond)
	require.NoError(t, d.cmd.Process.Kill())
	require.Error(t, polling.wait(t))
	require.Error(t, waiting.wait(t))
	require.Error(t, listening.wait(t))
	_ = watch.wait(t)
	require.Contains(t, watch.output.String(), "(8)", "IBV_EVENT_DEVICE_FATAL")
}

// A program without permission gets an error, before and after it connects.
func TestDaemonRefuses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs a second user, which only root can be")
	}
	d := startDaemon(t)
	stranger := func() string {
		cmd := d.command("ibv_devinfo")
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody - 1, Gid: nobody - 1}
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		return string(out)
	}
	require.NoError(t, os.Chmod(filepath.Dir(d.socket), 0o711))
	require.Contains(t, stranger(), "Permission denied")
	require.NoError(t, os.Chmod(d.socket, 0o777))
	require.Contains(t, stranger(), "Failed to open device")
	out, err := d.command("ibv_devinfo").CombinedOutput()
	require.NoError(t, err, string(out))
}

// A daemon of another user than the program's and root's is not trusted with its memory, if the
// socket's directory is not that user's own.
func TestDaemonIsNotTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs a second user, which only root can be")
	}
	lib := library(t)
	if _, err := exec.LookPath("ibv_devinfo"); err != nil {
		t.Skipf("%v; 'scripts/setup verbs' installs it", err)
	}
	dir, err := os.MkdirTemp("", "roced")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o1777))
	path := filepath.Join(dir, "roced.sock")
	python := exec.Command("python3", "-c", `import os,socket,sys
os.setgid(65534); os.setuid(65534)
s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); s.listen()
print("listening",flush=True); c,_=s.accept(); print(c.recv(100),flush=True)`, path)
	output, err := python.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, python.Start())
	t.Cleanup(func() { _ = python.Process.Kill(); _ = python.Wait() })
	_, err = bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	cmd := exec.CommandContext(testContext(t), "ibv_devinfo")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib, "GOROCE_DAEMON="+path)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "is another user's")
}

// Two programs cannot listen on one port of the RDMA CM.
func TestDaemonPorts(t *testing.T) {
	d := startDaemon(t)
	var out []byte
	require.Eventually(t, func() bool { // the first may be the later one on a busy machine
		first := d.start("rping", "-s", "-p", "7178")
		defer func() { _ = first.Process.Kill() }()
		time.Sleep(500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(d.ctx, 3*time.Second)
		defer cancel()
		second := d.command("rping", "-s", "-p", "7178")
		limited := exec.CommandContext(ctx, second.Path, second.Args[1:]...)
		limited.Env, limited.SysProcAttr, limited.Dir = second.Env, second.SysProcAttr, "/"
		out, _ = limited.CombinedOutput()
		return strings.Contains(string(out), "Address already in use")
	}, 20*time.Second, 50*time.Millisecond, "%s", &out)
}

// A second daemon on the path of a running one fails with one line.
func TestDaemonTwice(t *testing.T) {
	d := startDaemon(t)
	out, err := d.command(d.cmd.Path, "-d", "loop:", "--socket", d.socket).CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 1, strings.Count(string(out), "\n"), string(out))
	require.Contains(t, string(out), "another roced listens on it")
}
