package dpdktest

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/eal"
)

// memory is the size of the memory that EAL reserves, in MiB; only pages in use are touched.
const memory = 512

// A Child is what another process does for a test. It receives the argument of Command.
type Child func(arg string) error

// childEnv and argEnv make a test binary run a Child instead of its tests.
const (
	childEnv = "GOROCE_TEST_CHILD"
	argEnv   = "GOROCE_TEST_ARG"
)

// Main is a TestMain: it starts EAL, runs the tests and ends the process. In a process that Command
// starts, it runs a child instead of the tests.
func Main(m *testing.M, children map[string]Child) {
	if err := eal.InitWith(eal.Config{NoHuge: true, Memory: memory}); err != nil {
		fmt.Fprintln(os.Stderr, "dpdktest:", err)
		os.Exit(1)
	}
	name, is := os.LookupEnv(childEnv)
	if !is {
		os.Exit(m.Run())
	}
	child := children[name]
	if child == nil {
		fmt.Fprintf(os.Stderr, "dpdktest: unknown child %q\n", name)
		os.Exit(1)
	}
	if err := child(os.Getenv(argEnv)); err != nil {
		fmt.Fprintf(os.Stderr, "dpdktest: child %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command returns the command that runs a child of this test binary, in a process of its own.
func Command(name, arg string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name, argEnv+"="+arg)
	cmd.Stderr = os.Stderr
	return cmd
}

// Open opens a port for the duration of the test. At its end all buffers must have been freed.
func Open(tb testing.TB, url string, opts dpdk.Options) *dpdk.Device {
	tb.Helper()
	d, err := dpdk.Open(url, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// Loop opens both ends of a loop of its own, named after the test.
func Loop(tb testing.TB, opts dpdk.Options) (a, b *dpdk.Device) {
	tb.Helper()
	url := fmt.Sprintf("loop:test%d", loops.Add(1))
	return Open(tb, url, opts), Open(tb, url, opts)
}

// loops numbers the loops, so that each call of Loop has one of its own.
var loops atomic.Int64

// Register makes the test's goroutine a polling thread until the test ends.
func Register(tb testing.TB) {
	tb.Helper()
	unregister, err := dpdk.Register(dpdk.AnyCPU)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(unregister)
}
