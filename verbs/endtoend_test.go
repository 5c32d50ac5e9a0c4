package verbs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// library returns the directory that `make verbs` fills.
func library(t *testing.T) string {
	dir, err := filepath.Abs("../lib")
	require.NoError(t, err)
	for _, name := range []string{"libibverbs.so.1", "libgoroce.so"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skipf("%v; 'make verbs' builds it", err)
		}
	}
	return dir
}

// program returns a command that runs over a port.
func program(ctx context.Context, dir, url, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "GOROCE_PORT="+url)
	cmd.WaitDelay = time.Second
	return cmd
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Wrong arguments get the errors that libibverbs documents.
func TestAbuse(t *testing.T) {
	dir, binary := library(t), filepath.Join(t.TempDir(), "abuse")
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		t.Skipf("%v; 'scripts/setup verbs' installs it", err)
	}
	out, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-o", binary, "testdata/abuse.c",
		"-libverbs").CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = program(testContext(t), dir, "loop:", binary).CombinedOutput()
	require.NoError(t, err, string(out))
}

// Two processes of ibv_rc_pingpong exchange messages, and check their contents.
func TestPingpong(t *testing.T) {
	const name = "ibv_rc_pingpong"
	dir := library(t)
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%v; 'scripts/setup verbs' installs it", err)
	}
	ctx, url := testContext(t), "memif:"+filepath.Join(t.TempDir(), "v.sock")
	args := strings.Fields("-g 0 -c -e -n 200 -p 18533")
	server := program(ctx, dir, url, name, args...)
	var output strings.Builder
	server.Stdout, server.Stderr = &output, &output
	require.NoError(t, server.Start())
	var out []byte
	require.Eventually(t, func() bool { // until the server listens
		var err error
		out, err = program(ctx, dir, url+",client", name, append(args, "localhost")...).
			CombinedOutput()
		return err == nil
	}, 40*time.Second, 200*time.Millisecond, "%s%s", &output, out)
	require.NoError(t, server.Wait(), output.String())
	require.Contains(t, string(out), "200 iters in")
	require.Contains(t, output.String(), "200 iters in")
}

// Two processes of rping connect by the RDMA CM, and read and write each other's memory.
func TestRping(t *testing.T) {
	const name = "rping"
	dir := library(t)
	if _, err := os.Stat(filepath.Join(dir, "librdmacm.so.1")); err != nil {
		t.Skipf("%v; 'make verbs' builds it", err)
	}
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%v; 'scripts/setup verbs' installs it", err)
	}
	ctx, url := testContext(t), "memif:"+filepath.Join(t.TempDir(), "v.sock")
	args := strings.Fields("-v -C 50 -a 198.18.0.1")
	server := program(ctx, dir, url, name, append(args, "-s")...)
	var output strings.Builder
	server.Stdout, server.Stderr = &output, &output
	require.NoError(t, server.Start())
	var out []byte
	require.Eventually(t, func() bool { // until the server listens
		var err error
		out, err = program(ctx, dir, url+",client", name, append(args, "-c")...).CombinedOutput()
		return err == nil
	}, 40*time.Second, 200*time.Millisecond, "%s%s", &output, out)
	_ = server.Wait() // its exit status is an error when its client has disconnected
	require.Contains(t, string(out), "ping data: rdma-ping-49")
	require.Contains(t, output.String(), "server ping data: rdma-ping-49")
}

// With faults, an unmodified program passes, and the capture has the retransmissions.
func TestFaultsAndCapture(t *testing.T) {
	const name = "ib_write_bw"
	dir := library(t)
	for _, tool := range []string{name, "tshark"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v; 'scripts/setup verbs' and 'scripts/setup' install it", err)
		}
	}
	ctx, url := testContext(t), "memif:"+filepath.Join(t.TempDir(), "v.sock")
	capture := filepath.Join(t.TempDir(), "v.pcap")
	args := strings.Fields("-x 0 -n 1000 -s 4096 -p 18534")
	server := program(ctx, dir, url, name, args...)
	require.NoError(t, server.Start())
	var out []byte
	require.Eventually(t, func() bool { // until the server listens
		client := program(ctx, dir, url+",client", name, append(args, "localhost")...)
		client.Env = append(client.Env, "GOROCE_FAULTS=loss=1%,seed=7", "GOROCE_PCAP="+capture)
		var err error
		out, err = client.CombinedOutput()
		return err == nil
	}, 50*time.Second, 200*time.Millisecond, "%s", &out)
	require.NoError(t, server.Wait(), string(out))
	list, err := exec.CommandContext(ctx, "tshark", "-r", capture, "-Y",
		"infiniband.bth.opcode <= 11", "-T", "fields", "-e", "infiniband.bth.psn").Output()
	require.NoError(t, err)
	seen := map[string]int{}
	again := 0
	for psn := range strings.FieldsSeq(string(list)) {
		if seen[psn]++; seen[psn] > 1 {
			again++
		}
	}
	require.GreaterOrEqual(t, len(seen), 1000, "packets of 1000 messages")
	require.Positive(t, again, "no packet was sent again")
}
