package dpdk_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/faults"
)

// mostCalls is more than any port makes while it opens.
const mostCalls = 1000

// TestOpenFails has every call in turn fail that a port of each kind makes while it opens.
func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		url   string
		loses faults.Census // what DPDK 22.11's driver leaks when it fails or, null, always
	}{
		{"loop:fails", faults.Census{}},
		{"null:", faults.Census{Heap: 1 << 10}},
		{"pcap:testdata/rc-send-multi.pcap," + filepath.Join(dir, "out"),
			faults.Census{Descriptors: 2}},
		{"memif:" + filepath.Join(dir, "s"), faults.Census{Heap: 1 << 10}},
		{"memif:" + filepath.Join(dir, "none") + ",client", faults.Census{Heap: 1 << 10}},
	} {
		t.Run(strings.ReplaceAll(c.url, dir, ""), func(t *testing.T) {
			openFails(t, c.url, c.loses)
		})
	}
}

func openFails(t *testing.T, url string, loses faults.Census) {
	opens(t, url) // what EAL, the driver and Go keep for ever
	for n := 1; ; n++ {
		require.Less(t, n, mostCalls)
		before := faults.Count(t).Plus(loses)
		faults.Arm(t, n, "")
		d, err := dpdk.Open(url, dpdk.Options{})
		failed := faults.Disarm()
		if errors.Is(err, fs.ErrPermission) && failed == "" {
			t.Skip("the system does not permit this port: ", err)
		}
		switch {
		case failed == "":
			require.NoError(t, err)
			require.NoError(t, d.Close())
			t.Log(n-1, "calls")
			return
		case err == nil:
			t.Log(n, failed, "is done without")
			require.NoError(t, d.Close())
		default:
			t.Log(n, failed, err)
			step := regexp.QuoteMeta("dpdk: open "+url+": ") + `[a-zA-Z]{3}.*: [a-z ]{5}`
			require.Regexp(t, step, err.Error(), "what was asked, which step failed, and why")
			require.Nil(t, d)
		}
		faults.Unchanged(t, before, failed)
		opens(t, url)
		faults.Unchanged(t, before, "open after "+failed)
	}
}

// opens opens and closes a port.
func opens(t *testing.T, url string) {
	t.Helper()
	d, err := dpdk.Open(url, dpdk.Options{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

// TestCloseFails: a port whose driver refuses to stop, close or go says so, and everything is given
// back all the same.
func TestCloseFails(t *testing.T) {
	for _, call := range []string{"rte_eth_dev_stop", "rte_eth_dev_close", "rte_dev_remove"} {
		opens(t, "loop:closes")
		before := faults.Count(t)
		d, err := dpdk.Open("loop:closes", dpdk.Options{})
		require.NoError(t, err)
		faults.Arm(t, 1, call)
		err = d.Close()
		require.Equal(t, call, faults.Disarm())
		require.ErrorContains(t, err, "dpdk: close loop:closes/0: ")
		require.NoError(t, d.Close(), "once more")
		faults.Unchanged(t, before, call)
		opens(t, "loop:closes")
	}
}

// TestCloseThatCannotBegin: EAL has no memory for the alarm by which a memif is controlled. Nothing
// is closed then, and a second Close does it.
func TestCloseThatCannotBegin(t *testing.T) {
	for _, role := range []string{"", ",client"} {
		url := "memif:" + filepath.Join(t.TempDir(), "s") + role
		opens(t, url)
		before := faults.Count(t)
		d, err := dpdk.Open(url, dpdk.Options{})
		require.NoError(t, err)
		faults.Arm(t, 1, "rte_eal_alarm_set")
		err = d.Close()
		require.ErrorContains(t, err, "eal: alarm: ")
		faults.Disarm()
		require.NoError(t, d.Close())
		faults.Unchanged(t, before, "close")
	}
}

// TestOpenWithoutDescriptors lets the process have a few descriptors more than it has, ever more of
// them until the port opens.
func TestOpenWithoutDescriptors(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{
		"pcap:testdata/rc-send-multi.pcap," + filepath.Join(dir, "out"),
		"memif:" + filepath.Join(dir, "s"), "memif:" + filepath.Join(dir, "none") + ",client",
	} {
		opens(t, url)
		for spare := 0; ; spare++ {
			require.Less(t, spare, 100)
			before := faults.Count(t).Plus(faults.Census{Heap: 1 << 10, Descriptors: 2})
			restore := limitDescriptors(t, spare)
			d, err := dpdk.Open(url, dpdk.Options{})
			restore()
			if err == nil {
				require.NoError(t, d.Close())
			}
			faults.Unchanged(t, before, url)
			if err == nil {
				break
			}
			require.ErrorContains(t, err, "dpdk: open "+url+": ")
		}
		opens(t, url)
	}
}

// limitDescriptors allows n descriptors above the highest that is open.
func limitDescriptors(t *testing.T, n int) (restore func()) {
	t.Helper()
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	spare, err := syscall.Dup(0)
	require.NoError(t, err)
	require.NoError(t, syscall.Close(spare))
	limit := syscall.Rlimit{Cur: uint64(spare + n), Max: was.Max}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	return func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }
}
