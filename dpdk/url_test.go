package dpdk

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseURL(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 7}
	for _, c := range []struct {
		in   string
		want URL
	}{
		{"loop:", URL{Scheme: Loop}},
		{"loop:a", URL{Scheme: Loop, Name: "a"}},
		{"loop:a,depth=8,mac=02:00:00:00:00:07",
			URL{Scheme: Loop, Name: "a", MAC: mac, Options: []KV{{"depth", "8"}}}},
		{"loop:rate=10G,ecn=100KiB,400KiB,depth=8", URL{Scheme: Loop,
			Options: []KV{{"rate", "10G"}, {"ecn", "100KiB,400KiB"}, {"depth", "8"}}}},
		{"loop:depth=8", URL{Scheme: Loop, Options: []KV{{"depth", "8"}}}},
		{"memif:/run/s", URL{Scheme: Memif, Name: "/run/s"}},
		{"memif:/run/s,server,id=3",
			URL{Scheme: Memif, Name: "/run/s", Options: []KV{{"id", "3"}}}},
		{"memif:/run/s,id=3,client", URL{Scheme: Memif, Name: "/run/s", Client: true,
			Options: []KV{{"id", "3"}}}},
		{"af_packet:eth0", URL{Scheme: AFPacket, Name: "eth0"}},
		{"af_packet:eth0.5,qdisc_bypass=1",
			URL{Scheme: AFPacket, Name: "eth0.5", Options: []KV{{"qdisc_bypass", "1"}}}},
		{"af_xdp:eth0", URL{Scheme: AFXDP, Name: "eth0"}},
		{"tap:t0", URL{Scheme: Tap, Name: "t0"}},
		{"pcap:a.pcap,b.pcap", URL{Scheme: Pcap, RxFile: "a.pcap", TxFile: "b.pcap"}},
		{"pcap:,b.pcap", URL{Scheme: Pcap, TxFile: "b.pcap"}},
		{"pcap:a.pcap,infinite_rx=1",
			URL{Scheme: Pcap, RxFile: "a.pcap", Options: []KV{{"infinite_rx", "1"}}}},
		{"null:", URL{Scheme: Null}},
		{"null:size=100", URL{Scheme: Null, Options: []KV{{"size", "100"}}}},
		{"pci:0000:3B:00.0", URL{Scheme: PCI, Name: "0000:3b:00.0"}},
		{"pci:3b:00.1,devargs=x",
			URL{Scheme: PCI, Name: "0000:3b:00.1", Options: []KV{{"devargs", "x"}}}},
		{"eal:net_null0,size=64", URL{Scheme: EAL, Name: "net_null0,size=64"}},
	} {
		t.Run(c.in, func(t *testing.T) {
			got, err := ParseURL(c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			again, err := ParseURL(got.String())
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func TestParseURLErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "af_packet:eth0",
		"eth0":                               "want one of loop:",
		"bogus:x":                            "memif:/path/sock",
		"loop:a,b":                           `"b" is not a k=v`,
		"loop:a,x=1":                         "no option x; there are: mac depth rate ecn",
		"loop:rate=1":                        "want at least 1Mb/s",
		"loop:rate=fast":                     "rate=fast",
		"loop:ecn=5":                         "want two lengths of the queue",
		"loop:ecn=5,4":                       "want two lengths of the queue",
		"loop:ecn=a,b":                       "want two lengths of the queue",
		"loop:a,depth=x":                     "depth=x is not a number",
		"loop:a,depth=1,depth=2":             "depth is given twice",
		"memif:":                             "no socket path",
		"memif:/s,peer":                      "is not client, server or a k=v",
		"memif:/" + strings.Repeat("x", 120): "longer than 107",
		"memif:/s,id=":                       "empty side",
		"af_packet:":                         "no interface name",
		"af_packet:averyveryverylongname":    "longer than 15",
		"af_packet:../x":                     "is not an interface name",
		"tap:t 0":                            "blank or control character at 1",
		"tap:t0,mac=01:00:00:00:00:00":       "not a unicast",
		"tap:t0,mac=zz":                      "not a unicast",
		"pcap:":                              "no file to read and none to write",
		"pci:zz":                             "not a PCI address",
		"eal:":                               "not a device name",
		"eal:--help":                         "not a device name",
		"null:x":                             "not a k=v",
	} {
		_, err := ParseURL(in)
		require.ErrorIs(t, err, ErrURL, in)
		require.ErrorContains(t, err, want, in)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range strings.Fields(schemeHelp) {
		f.Add(s)
	}
	f.Add("loop:rate=10G,ecn=100KiB,400KiB")
	f.Add("loop:a,depth=8,mac=02:00:00:00:00:07")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			require.ErrorIs(t, err, ErrURL)
			return
		}
		again, err := ParseURL(u.String())
		require.NoError(t, err)
		require.Equal(t, u, again)
		u.vdev(0, want{queues: 1, mtu: 1500})
		require.Zero(t, u.mac(false)[0]&1)
	})
}

func TestVdev(t *testing.T) {
	for _, c := range []struct {
		url         string
		queues, mtu int
		want        vdev
	}{
		{"memif:/s,mac=02:00:00:00:00:01", 1, memifMTU, vdev{"vdev", "net_memif3",
			"role=server,socket=/s,socket-abstract=no,bsize=4352,rsize=9,mac=02:00:00:00:00:01"}},
		{"memif:/s,client,rsize=10,mac=02:00:00:00:00:01", 1, 1500, vdev{"vdev", "net_memif3",
			"role=client,socket=//s,socket-abstract=no,bsize=1536,mac=02:00:00:00:00:01,rsize=10"}},
		{"af_packet:eth0", 2, 1500, vdev{"vdev", "net_af_packet3",
			"iface=eth0,qpairs=2,framesz=1792,blocksz=28672,framecnt=1024"}},
		{"af_packet:eth0,framecnt=64", 1, 9000, vdev{"vdev", "net_af_packet3",
			"iface=eth0,qpairs=1,framesz=9216,blocksz=147456,framecnt=64"}},
		{"af_xdp:eth0", 2, 1500,
			vdev{"vdev", "net_af_xdp3", "iface=eth0,start_queue=0,queue_count=2"}},
		{"tap:t0", 1, 1500, vdev{"vdev", "net_tap3", "iface=t0"}},
		{"pcap:a,b", 1, 1500, vdev{"vdev", "net_pcap3", "rx_pcap=a,tx_pcap=b"}},
		{"null:size=9", 1, 1500, vdev{"vdev", "net_null3", "size=9"}},
		{"pci:3b:00.0,x=y", 1, 1500, vdev{"pci", "0000:3b:00.0", "x=y"}},
		{"eal:net_ring9,a=b,c", 1, 1500, vdev{"vdev", "net_ring9", "a=b,c"}},
	} {
		u, err := ParseURL(c.url)
		require.NoError(t, err)
		require.Equal(t, c.want, u.vdev(3, want{queues: c.queues, mtu: c.mtu}), c.url)
	}
}

func TestPacketRingHasNoGapAtTheEndOfABlock(t *testing.T) {
	for mtu := MinMTU; mtu <= 9600; mtu++ {
		frame, block := packetRing(mtu)
		require.GreaterOrEqual(t, frame, mtu+frameOverhead+66)
		require.Zero(t, block%frame)
		require.Zero(t, block%4096)
	}
}

func TestMACs(t *testing.T) {
	u := URL{Scheme: Loop, Name: "x"}
	first, second := u.mac(false), u.mac(true)
	require.NotEqual(t, first, second)
	require.Equal(t, first, u.mac(false), "the same in every run")
	require.EqualValues(t, 2, first[0])
	other := URL{Scheme: Loop, Name: "y"}
	require.NotEqual(t, first, other.mac(false))
}

func TestShape(t *testing.T) {
	s := loopShape(Options{Queues: 1, Classes: 1}, 2, 3)
	require.Equal(t, []uint16{2, 5, 1, 4, 0, 3}, s.rx(0),
		"one Queue polls all the other end sends on")
	require.Equal(t, []uint16{0}, s.tx(0))
	s = loopShape(Options{Queues: 4, Classes: 3}, 2, 3)
	require.Equal(t, 2, s.queues)
	require.Equal(t, []uint16{5, 4, 3}, s.rx(1))
	require.Equal(t, []uint16{3, 4, 5}, s.tx(1))
	s = shape{queues: 2, classes: 2, rxq: 2, txq: 4, stride: 1}
	require.Equal(t, []uint16{1}, s.rx(1))
	require.Equal(t, []uint16{2, 3}, s.tx(1))
}

func TestOptionsValidate(t *testing.T) {
	require.NoError(t, Options{}.Validate())
	for _, o := range []Options{{Queues: -1}, {Queues: 65}, {Classes: 4}, {Buffers: -5}, {MTU: 10},
		{MTU: 1 << 20}} {
		require.ErrorIs(t, o.Validate(), ErrOptions)
	}
}
