package report

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// file returns a file of testdata: output of Debian 12's tools, rxe to rxe, in two emulated guests.
func file(t testing.TB, name string) string {
	b, err := os.ReadFile("testdata/" + name + ".txt")
	require.NoError(t, err)
	return string(b)
}

func TestTable(t *testing.T) {
	for name, want := range map[string]Row{
		"write_bw-client":       {Size: 4096, Iterations: 2000, Bandwidth: 33.59},
		"write_bw-server":       {Size: 4096, Iterations: 2000, Bandwidth: 33.59},
		"send_lat_ud-client":    {Size: 64, Iterations: 50, Latency: 65.32},
		"send_lat_ud-server":    {Size: 64, Iterations: 50, Latency: 64.16},
		"read_lat-client":       {Size: 64, Iterations: 50, Latency: 112.62},
		"write_bw_gbits-client": {Size: 4096, Iterations: 5, Bandwidth: 0.073416e9 / 8 / (1 << 20)},
	} {
		rows, err := Table(file(t, name))
		require.NoError(t, err, name)
		require.Len(t, rows, 1, name)
		require.Equal(t, want.Size, rows[0].Size, name)
		require.Equal(t, want.Iterations, rows[0].Iterations, name)
		require.InDelta(t, want.Bandwidth, rows[0].Bandwidth, 1e-9, name)
		require.InDelta(t, want.Latency, rows[0].Latency, 1e-9, name)
	}
}

// TestNoTable checks outputs without rows: the server of ib_read_lat and ib_atomic_lat prints its
// addresses and no table.
func TestNoTable(t *testing.T) {
	_, err := Table(file(t, "read_lat-server"))
	require.ErrorIs(t, err, ErrNoTable)
	_, err = Table(
		" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n-----\n")
	require.ErrorIs(t, err, ErrNoTable, "our server prints the heading only")
}

func TestInvalidTable(t *testing.T) {
	const heading = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   " +
		"MsgRate[Mpps]\n"
	for says, text := range map[string]string{
		"heading":   " #bytes of something\n 64 5 1 1 1\n",
		"3 columns": heading + " 64 5 1\n",
		"parsing":   heading + " 64 5x 1 1 1\n",
		"syntax":    heading + " 64 5 1 fast 1\n",
	} {
		_, err := Table(text)
		require.ErrorIs(t, err, ErrTable, says)
		require.ErrorContains(t, err, says)
	}
}

func TestPingpong(t *testing.T) {
	for _, side := range []string{"client", "server"} {
		r, err := Pingpong(file(t, "rc_pingpong-"+side))
		require.NoError(t, err)
		require.EqualValues(t, 4096, r.Size)
		require.Equal(t, 50, r.Iterations)
		require.Greater(t, r.Latency, 5000.0)
	}
	_, err := Pingpong(file(t, "rc_pingpong-server") + "invalid data in page 0\n")
	require.ErrorIs(t, err, ErrCorrupt)
	_, err = Pingpong("  local address:  LID 0x0000\n")
	require.ErrorIs(t, err, ErrUnfinished)
}

func TestRping(t *testing.T) {
	for _, side := range []string{"client", "server"} {
		n, err := Rping(file(t, "rping-"+side))
		require.NoError(t, err)
		require.Equal(t, 3, n, side)
	}
	_, err := Rping(strings.ReplaceAll(file(t, "rping-client"), "ping-1:", "ping-2:"))
	require.ErrorIs(t, err, ErrCorrupt)
	_, err = Rping(file(t, "rping-client") + "data mismatch!\n")
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestDocument(t *testing.T) {
	got, err := Document([]byte(`{"results":[{"retransmits":2,"drops":1,"lost":0},` +
		`{"retransmits":3,"timeouts":4,"cnps":6,"ce_marked":7}]}`))
	require.NoError(t, err)
	require.Equal(t, Totals{Retransmits: 5, Timeouts: 4, CNPs: 6, MarkedCE: 7, Drops: 1}, got)
	require.Equal(t, "retransmits 5, timeouts 4, CNPs 6, CE marks 7, drops 1", got.String())
	_, err = Document([]byte(`{`))
	require.Error(t, err)
}

func TestWatch(t *testing.T) {
	const line = `{"elapsed_s":1.0,"MsgSize":4096,"qpn":1,"cc":"swift","goodput_gbps":0.12,` +
		`"window_bytes":7693,"rate_gbps":0,"delay_us":496.6,"target_us":533.8,"ce_marked":0,` +
		`"cnps":2,"retransmits":0,"cuts":{"delay":788,"loss":2},"last_cut":"delay"}` + "\n"
	all, err := Watch([]byte(line + line))
	require.NoError(t, err)
	want := Glance{Elapsed: 1, Goodput: 0.12, Window: 7693, Delay: 496.6, Target: 533.8, CNPs: 2,
		Cuts: map[string]uint64{"delay": 788, "loss": 2}}
	require.Equal(t, []Glance{want, want}, all)
	require.Equal(t, "window 7693B, delay 0.5 of 0.5 ms, cut 790 times", want.String())
	require.Equal(t, "100 Mb/s, cut 0 times", Glance{Rate: 0.1}.String())
	_, err = Watch(nil)
	require.ErrorIs(t, err, ErrUnwatched)
	_, err = Watch([]byte(line + "{"))
	require.ErrorContains(t, err, "line 2")
}

func TestRXE(t *testing.T) {
	now, err := ReadRXE(file(t, "hw_counters"))
	require.NoError(t, err)
	require.Greater(t, now["sent_pkts"], uint64(1000))
	require.Len(t, now, 16)
	before := RXE{"completer_retry_err": 1, "rcvd_seq_err": 5}
	after := RXE{"completer_retry_err": 4, "rcvd_seq_err": 5, "duplicate_request": 2}
	d := after.Since(before)
	require.Equal(t, "retries 3, duplicates received 2", d.String())
	require.EqualValues(t, 5, d.Recoveries())
	_, err = ReadRXE("sent_pkts 5\n")
	require.ErrorContains(t, err, "sent_pkts 5")
}

func FuzzReport(f *testing.F) {
	for _, name := range []string{"write_bw-client", "send_lat_ud-server", "rc_pingpong-client",
		"rping-server", "hw_counters"} {
		f.Add(file(f, name))
	}
	f.Add(`{"results":[{"retransmits":2}]}`)
	f.Add(`{"elapsed_s":1.0,"window_bytes":7693,"cuts":{"delay":788}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if rows, err := Table(text); err == nil {
			require.NotEmpty(t, rows)
			for _, r := range rows {
				require.GreaterOrEqual(t, r.Size, 0*r.Size)
				require.GreaterOrEqual(t, r.Iterations, 0)
			}
		}
		if r, err := Pingpong(text); err == nil {
			require.Positive(t, r.Iterations)
		}
		_, _ = Rping(text)
		_, _ = ReadRXE(text)
		_, _ = Document([]byte(text))
		if all, err := Watch([]byte(text)); err == nil {
			require.NotEmpty(t, all)
		}
	})
}
