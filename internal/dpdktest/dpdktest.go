package dpdktest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/eal"
)

// memory is what EAL reserves, in MiB; only what is used is ever touched.
const memory = 512

// Main is a TestMain: it starts EAL, runs the tests and ends the process.
func Main(m *testing.M) {
	if err := eal.InitWith(eal.Config{NoHuge: true, Memory: memory}); err != nil {
		fmt.Fprintln(os.Stderr, "dpdktest:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Open opens a port for the duration of the test. At its end every buffer must be home.
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

// loops counts, so that every call has a loop of its own.
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
