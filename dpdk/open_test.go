package dpdk_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/packet"
)

func TestOpenErrorsGiveTheReason(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("not a capture"), 0o644))
	for url, reason := range map[string]string{
		"af_packet:nope":              `no interface "nope" here; there are: lo`,
		"af_xdp:nope":                 `no interface "nope"`,
		"memif:" + dir + "/no/s":      "no such file or directory",
		"memif:" + plain:              "is not a socket",
		"memif:" + dir + "/s,bsize=x": "bsize=x is not a number",
		"pcap:" + dir + "/none":       "no such file",
		"pcap:" + plain:               "unknown file format",
		"pcap:," + dir + "/no/out":    "no such file or directory",
		"pci:0000:ff:1f.7":            "Cannot find device",
		"eal:net_bogus0":              "net_bogus0",
	} {
		d, err := dpdk.Open(url, dpdk.Options{})
		require.Nil(t, d, url)
		require.ErrorContains(t, err, reason, url)
		require.ErrorContains(t, err, "dpdk: open "+url)
	}
	_, err := dpdk.Open("null:", dpdk.Options{Queues: 1000})
	require.ErrorIs(t, err, dpdk.ErrOptions)
	_, err = dpdk.Open("null:", dpdk.Options{Buffers: dpdk.MaxBuffers, MTU: dpdk.MaxMTU})
	t.Log(err) // 64 GiB: refused or, with overcommit, not
}

// A memif server needs a directory in which it may create its socket. Root may create files in
// every directory but those of a file system that is read-only.
func TestMemifInUnwritableDirectory(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		require.NoError(t, os.Chmod(dir, 0o500))
	} else if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("root may write everywhere, and this machine permits no mounts: %v", err)
	} else {
		defer func() { require.NoError(t, syscall.Unmount(dir, 0)) }()
	}
	d, err := dpdk.Open("memif:"+dir+"/s", dpdk.Options{})
	require.Nil(t, d)
	require.ErrorContains(t, err, "want a directory in which this user may create files; "+dir)
	require.NotContains(t, err.Error(), "\n")
}

func TestOpenLogsUnavailableOptions(t *testing.T) {
	var log bytes.Buffer
	opts := dpdk.Options{Queues: 4, Classes: 3, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	d := dpdktest.Open(t, "pcap:,"+filepath.Join(t.TempDir(), "out.pcap"), opts)
	require.Equal(t, 1, d.Queues())
	require.Equal(t, 1, d.Info().Classes)
	require.Contains(t, log.String(), "fewer queues than requested")
	require.Contains(t, log.String(), "classes share a transmit queue")
}

func TestNull(t *testing.T) {
	d := dpdktest.Open(t, "null:size=100,mac=02:00:00:00:00:09",
		dpdk.Options{Queues: 2, Classes: 3})
	require.Equal(t, packet.MAC{2, 0, 0, 0, 0, 9}, d.Info().MAC)
	require.Equal(t, 3, d.Info().Classes)
	q := d.Queue(1)
	bufs := make([]packet.Buf, 100)
	require.Equal(t, 64, q.Recv(bufs), "one C call, one burst")
	require.Equal(t, 100, bufs[0].Len())
	require.Equal(t, 64, q.Send(packet.ClassControl, bufs[:64]))
	free(t, d, dpdk.DefaultBuffers)
}

func TestPcapReplaysAndRecords(t *testing.T) {
	const conversation = "testdata/rc-send-multi.pcap"
	out := filepath.Join(t.TempDir(), "out.pcap")
	d := dpdktest.Open(t, "pcap:"+conversation+","+out, dpdk.Options{})
	got := receive(d.Queue(0), 10000)
	want := capture(t, conversation)
	require.NotEmpty(t, want)
	require.Equal(t, want, contents(got))
	require.Equal(t, len(got), d.Queue(0).Send(packet.ClassData, got))
	free(t, d, dpdk.DefaultBuffers)
	require.NoError(t, d.Close())
	require.Equal(t, want, capture(t, out))
}

func TestFramesInSeveralSegmentsAreDroppedAndCounted(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.pcap")
	small, long := make([]byte, 60), make([]byte, 1000)
	record(t, in, small, long, small, long, long)
	d := dpdktest.Open(t, "pcap:"+in, dpdk.Options{MTU: 68, Buffers: 63})
	got := receive(d.Queue(0), 10)
	require.Equal(t, [][]byte{small, small}, contents(got))
	s, err := d.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 3, s.RxChained)
	d.Queue(0).Free(got)
	free(t, d, 63)
}

func contents(bufs []packet.Buf) [][]byte {
	var all [][]byte
	for i := range bufs {
		all = append(all, append([]byte{}, bufs[i].Data()...))
	}
	return all
}
