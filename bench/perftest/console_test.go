package perftest

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/connect"
)

// The lines were made with perftest's format strings.
func TestBandwidthLine(t *testing.T) {
	row := func(size int, n uint64, peak, average, rate float64) *Row {
		return &Row{MsgSize: size, Iterations: n, BandwidthRow: &BandwidthRow{peak, average, rate}}
	}
	for _, c := range []struct {
		row   *Row
		gbits bool
		want  string
	}{
		{row(65536, 5000, 95.81, 95.80, 0.182718), true,
			" 65536      5000             95.81              95.80  \t\t     0.182718"},
		{row(2048, 5, 0, 5.57, 0.002850), false,
			" 2048       5                0.00               5.57   \t\t     0.002850"},
		{row(2, 1000, 0.05, 0.04, 0.0025), true,
			" 2          1000           0.050000            0.040000            0.002500"},
		{row(2, 1000, 0.05, 0.04, 0.0025), false,
			" 2          1000             0.05               0.04   \t\t     0.002500"},
	} {
		require.Equal(t, c.want, bandwidthLine(c.row, c.gbits))
	}
}

func TestLatencyLine(t *testing.T) {
	row := &Row{MsgSize: 2, Iterations: 1000, LatencyRow: &LatencyRow{Min: 2.37, Max: 5.39,
		Typical: 2.42, Avg: 2.42, Stdev: 0.05, P99: 2.47, P999: 4.03}}
	require.Equal(t, " 2       1000          2.37           5.39         2.42     \t       2.42  "+
		"      \t0.05   \t\t2.47    \t\t4.03   \n", latencyLine(row))
	var out bytes.Buffer
	s, err := parse(writeLat, []string{"-D", "1"})
	require.NoError(t, err)
	row.TPS = 123456.78
	(&console{out: &out, settings: s}).row(row)
	require.Equal(t, " 2             1000            2.42           123456.78\n", out.String())
}

func TestHeadings(t *testing.T) {
	heading := func(test Test, args ...string) string {
		s, err := parse(test, args)
		require.NoError(t, err)
		return s.heading()
	}
	require.Equal(t, " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   "+
		"MsgRate[Mpps]\n", heading(writeBW))
	require.Equal(t, " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   "+
		"MsgRate[Mpps]\n", heading(sendBW, "--report_gbits"))
	require.Equal(t, " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "+
		"t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n",
		heading(writeLat))
	require.Equal(t, " #bytes        #iterations       t_avg[usec]    tps average\n",
		heading(writeLat, "-D", "3"))
}

const goldenHeader = "-------------------------------------------" +
	`--------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : loop:
 Number of qps   : 1		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 PCIe relax order: OFF		Lock-free      : OFF
 ibv_wr* API     : OFF		Using Enhanced Reorder      : OFF
 TX depth        : 128
 CQ Moderation   : 1
 CQE Poll Batch  : Dynamic
 Mtu             : 1024[B]
 Link type       : Ethernet
 GID index       : 0
 Max inline data : 0[B]
 rdma_cm QPs	 : OFF
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0108 PSN 0x63ad7d RKey 0x17eedf VAddr 0x007f760c947000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:255:255:05
 remote address: LID 0000 QPN 0x0076 PSN 0xf3810c RKey 0x201600 VAddr 0x007fbb4c981000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:255:255:04
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
`

func TestHeader(t *testing.T) {
	s, err := parse(writeBW, []string{"--report_gbits", "-Q", "1"})
	require.NoError(t, err)
	hello := func(addr string, qpn, psn, rkey uint32, va uint64) *connect.Hello {
		return &connect.Hello{Addr: netip.MustParseAddr(addr),
			QPs:     []connect.QP{{Num: qpn, PSN: psn}},
			Regions: []connect.Region{{Addr: va, RKey: rkey}}}
	}
	x := &session{settings: s, mtu: 1024,
		mine:   hello("10.255.255.5", 0x108, 0x63ad7d, 0x17eedf, 0x7f760c947000),
		theirs: hello("10.255.255.4", 0x76, 0xf3810c, 0x201600, 0x7fbb4c981000)}
	var out bytes.Buffer
	(&console{out: &out, settings: s}).header(x)
	require.Equal(t, goldenHeader, out.String())
}

// The lines in which the tests differ, as captured from perftest.
func TestHeaderKinds(t *testing.T) {
	for _, c := range []struct {
		test   Test
		args   string
		server bool
		has    string
		hasNot string
	}{
		{writeBW, "-b", true, "RDMA_Write Bidirectional BW Test| TX depth        : 128|RKey|VAddr",
			" RX depth"},
		{writeBW, "", true, "RDMA_Write BW Test", " TX depth| RX depth"},
		{sendBW, "", true, "Send BW Test| RX depth        : 512", " TX depth|RKey"},
		{sendBW, "", false, " TX depth        : 128", " RX depth|RKey"},
		{sendLat, "-c UD", false, "Send Latency Test| Connection type : UD| TX depth        : 1",
			" CQ Moderation|CQE Poll"},
		{readBW, "-o 1", false, "RDMA_Read BW Test| Outstand reads  : 1|PSN 0x000002 OUT 0x01 RKey",
			"Max inline"},
		{atomicBW, "", false, "Atomic FETCH_AND_ADD BW Test| Outstand reads  : 16", "RKey|OUT 0x"},
		{atomicBW, "-A CMP_AND_SWAP -l 4", false,
			"Atomic CMP_AND_SWAP BW Test| Post List       : 4", "Max inline"},
	} {
		s, err := parse(c.test, strings.Fields(c.args))
		require.NoError(t, err)
		h := &connect.Hello{Addr: netip.IPv6LinkLocalAllNodes(), RdAtomic: s.Outs,
			QPs: []connect.QP{{Num: 1, PSN: 2}}, Regions: make([]connect.Region, 1)}
		var out bytes.Buffer
		(&console{out: &out, settings: s}).header(&session{settings: s, server: c.server, mine: h,
			theirs: h, mtu: 4096})
		for _, want := range strings.Split(c.has, "|") {
			require.Contains(t, out.String(), want)
		}
		for _, no := range strings.Split(c.hasNot, "|") {
			require.NotContains(t, out.String(), no, c.test.Name())
		}
	}
}

func TestBanner(t *testing.T) {
	var out bytes.Buffer
	s, err := parse(writeBW, nil)
	require.NoError(t, err)
	(&console{out: &out, settings: s}).banner()
	require.Equal(t, "\n************************************\n* Waiting for client to connect... "+
		"*\n************************************\n", out.String())
}

func TestFairness(t *testing.T) {
	qps := func(rates ...float64) (rows []QPRow) {
		for _, r := range rates {
			rows = append(rows, QPRow{MsgRate: r})
		}
		return rows
	}
	require.InDelta(t, 1, jain(qps(3, 3, 3)), 1e-12)
	require.InDelta(t, 0.25, jain(qps(8, 0, 0, 0)), 1e-12)
	require.InDelta(t, 0.9, jain(qps(1, 2)), 1e-12)
	require.Equal(t, 1.0, jain(qps(0, 0)))
}

func TestLimits(t *testing.T) {
	rows := []*Row{{MsgSize: 64, BandwidthRow: &BandwidthRow{Average: 100, MsgRate: 2}}}
	for _, c := range []struct {
		bw, rate float64
		says     string
	}{
		{0, 0, ""}, {99, 1.9, ""},
		{101, 0, "bandwidth 100.00 MiB/sec, --limit_bw 101"},
		// perftest ignores it without -w
		{0, 2.5, "2.000000 million messages/s, --limit_msgrate 2.5"},
	} {
		s := &Settings{LimitBW: c.bw, LimitMsgRate: c.rate}
		err := s.limits(rows)
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrBelow)
			require.ErrorContains(t, err, c.says)
		}
	}
}
