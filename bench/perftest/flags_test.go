package perftest

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

var (
	writeBW  = Test{Write, Bandwidth}
	writeLat = Test{Write, Latency}
	readBW   = Test{Read, Bandwidth}
	sendBW   = Test{Send, Bandwidth}
	sendLat  = Test{Send, Latency}
	atomicBW = Test{Atomic, Bandwidth}
)

func TestDefaultsArePerftests(t *testing.T) {
	for _, c := range []struct {
		test                 Test
		size, iters, txDepth int
	}{
		{writeBW, 65536, 5000, 128}, {sendBW, 65536, 1000, 128}, {readBW, 65536, 1000, 128},
		{atomicBW, 8, 1000, 128},
		{writeLat, 2, 1000, 1}, {Test{Atomic, Latency}, 8, 1000, 1},
	} {
		s, err := parse(c.test, nil)
		require.NoError(t, err)
		require.Equal(t, []int{c.size, c.iters, c.txDepth, 512, 1, 18515, 18, 7},
			[]int{s.Size, s.Iters, s.TxDepth, s.RxDepth, s.QPs, s.Port, s.QPTimeout, s.RetryCount},
			c.test.Name())
		require.Equal(t, transport.RC, s.Connection)
		require.True(t, s.inProcess())
	}
	s, _ := parse(writeBW, []string{"-d", "null:"})
	require.Equal(t, 14, s.QPTimeout)
	require.Equal(t, 100, s.cqMod(8192))
	require.Equal(t, 1, s.cqMod(8193))
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args  string
		check func(t *testing.T, s *Settings)
	}{
		{"-s 4096 -n 77 -q 3 -t 64 -r 128", func(t *testing.T, s *Settings) {
			require.Equal(t, []int{4096, 77, 3, 64, 128}, []int{s.Size, s.Iters, s.QPs, s.TxDepth,
				s.RxDepth})
		}},
		{"--size=64K --iters 77 --qp=3 --tx-depth 64 --rx-depth 128",
			func(t *testing.T, s *Settings) {
				require.Equal(t, []int{65536, 77, 3, 64, 128},
					[]int{s.Size, s.Iters, s.QPs, s.TxDepth,
						s.RxDepth})
			}},
		{"--tx_depth 9 --cq_mod 4 --out-json", func(t *testing.T, s *Settings) {
			require.Equal(t, []int{9, 4}, []int{s.TxDepth, s.CQMod})
			require.Equal(t, "perftest_out.json", s.JSONFile)
		}},
		{"-D 5", func(t *testing.T, s *Settings) {
			require.Equal(t, 5*units.Second, s.Duration)
			require.Equal(t, 5*units.Second/4, s.Margin)
		}},
		{"-D 20", func(t *testing.T, s *Settings) { require.Equal(t, 2*units.Second, s.Margin) }},
		{"-D 0.5 -f 0.1", func(t *testing.T, s *Settings) {
			require.Equal(t, units.Second/10, s.Margin)
		}},
		{"-abFN --report_gbits", func(t *testing.T, s *Settings) {
			require.True(t, s.All && s.Bidirectional && s.NoPeak && s.Gbits)
		}},
		{"-c uc -m 1024 -l 8 -I 64 -Q 16", func(t *testing.T, s *Settings) {
			require.Equal(t, transport.UC, s.Connection)
			require.Equal(t, []int{1024, 8, 64, 16}, []int{s.MTU, s.PostList, s.Inline, s.CQMod})
		}},
		{"-w 10.5 -y 0.25 -u 18 --retry_count 3 --tclass 106", func(t *testing.T, s *Settings) {
			require.Equal(t, []float64{10.5, 0.25}, []float64{s.LimitBW, s.LimitMsgRate})
			require.Equal(t, []int{18, 3, 106}, []int{s.QPTimeout, s.RetryCount, s.TrafficClass})
		}},
		{"-d memif:/tmp/x,client --ip 10.0.0.1/24 --ip fd00::1/64 -x 1 --gateway 10.0.0.9 " +
			"localhost -p 4000", func(t *testing.T, s *Settings) {
			require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24"),
				netip.MustParsePrefix("fd00::1/64")}, s.Addrs)
			require.Equal(t, netip.MustParseAddr("10.0.0.9"), s.Gateways[0])
			require.Equal(t, "localhost", s.Host)
			require.Equal(t, []int{1, 4000}, []int{s.GIDIndex, s.Port})
			require.False(t, s.inProcess())
		}},
		{"--cores 1,0 --idle pause --queues 2 -q 2 --seed 5 --connect-timeout 250ms",
			func(t *testing.T, s *Settings) {
				require.Equal(t, []int{1, 0}, s.Cores)
				require.Equal(t, goroce.IdlePause, s.Idle)
				require.EqualValues(t, 5, s.Seed)
				require.Equal(t, units.Second/4, s.ConnectTimeout)
				require.Equal(t, 4, s.cores())
			}},
		{"--cc fixed:window=64KiB,rate=10G", func(t *testing.T, s *Settings) {
			require.Equal(t, "fixed:window=64KiB,rate=10G", s.Congestion.String())
		}},
		{"--cc swift --cc dctcp:g=0.1 --line-rate 25Gb/s --base-rtt 12us",
			func(t *testing.T, s *Settings) {
				require.Equal(t, "swift dctcp:g=0.1", s.Congestion.String())
				require.Equal(t, []string{"swift", "dctcp", "swift"},
					[]string{s.Congestion.of(0).Name(), s.Congestion.of(1).Name(),
						s.Congestion.of(2).Name()})
				require.Equal(t, 25*units.Gbps, s.LineRate)
				require.Equal(t, 12*units.Microsecond, s.BaseRTT)
			}},
		{"--cc swift --cc ledbat-dc --prio 11,0 --prio 3 --channels n=12,a=4us",
			func(t *testing.T, s *Settings) {
				var names []string
				for i := range 4 {
					names = append(names, s.controlOf(i).Name())
				}
				require.Equal(t, []string{"swift/11", "ledbat-dc/0", "swift/3", "ledbat-dc/11"},
					names)
				require.Equal(t, "swift ledbat-dc with priorities 11, 0, 3 of n=12,a=4us",
					s.controls())
			}},
		{"-d loop: --cc swift --offload soft --cores 0,1,2", func(t *testing.T, s *Settings) {
			require.Equal(t, []int{2}, s.agentCores())
			require.Equal(t, 2, s.agents(), "one of each end")
		}},
		{"-d null: --queues 2 -q 2 --cc swift --offload soft --cores 0,1,2,3",
			func(t *testing.T, s *Settings) {
				require.Equal(t, []int{2, 3}, s.agentCores())
				require.Equal(t, 2, s.agents())
			}},
		{"-d loop: --cc swift --offload soft --cores 0,0", func(t *testing.T, s *Settings) {
			require.Empty(t, s.agentCores())
		}},
		{"-d loop: --cc swift --cores 0,0,1", func(t *testing.T, s *Settings) {
			require.Empty(t, s.agentCores())
		}},
		{"--cc swift --tocc unsch=0,k=4096", func(t *testing.T, s *Settings) {
			require.Equal(t, "unsch=0,k=4096", s.Tokens.String())
		}},
		{"--out_json_file=/tmp/a.json --output bandwidth", func(t *testing.T, s *Settings) {
			require.Equal(t, []string{"/tmp/a.json", "bandwidth"}, []string{s.JSONFile, s.Output})
		}},
		{"-z -d null: -c UC", func(t *testing.T, s *Settings) {
			require.True(t, s.CM)
			require.False(t, s.connectsByCM())
		}},
		{"-e --run_infinitely", func(t *testing.T, s *Settings) {
			require.Equal(t, goroce.IdleSleep, s.Idle)
			require.Equal(t, 5*units.Second, s.Duration)
		}},
		{"--rate_limit 10 -q 2", func(t *testing.T, s *Settings) {
			require.Equal(t, "fixed:window=1MiB,rate=10Gb/s", s.Congestion.String())
		}},
		{"--rate_limit 500 --rate_limit_type PP", func(t *testing.T, s *Settings) {
			require.Equal(t, "fixed:window=1MiB,rate=500kb/s", s.Congestion.String())
		}},
		{"--rate_limit 1 --rate_units M --rate_limit_type SW --burst_size 8 -s 1024",
			func(t *testing.T, s *Settings) {
				l := s.newLimiter(s.Size)
				require.Equal(t, 1024.0, l.rate)
				require.Equal(t, 8, l.allowed(1))
			}},
		{"--ip 10.0.0.1/24 --ip fd00::1/64 --ipv6", func(t *testing.T, s *Settings) {
			require.Equal(t, []int{2, 1}, []int{s.gidIndex(), s.addressIndex()})
		}},
		{"--ip 10.0.0.1/24 -x 0 --flow_label 7 -L 9", func(t *testing.T, s *Settings) {
			require.Equal(t, []int{0, 1}, []int{s.gidIndex(), s.addressIndex()})
			require.Equal(t, []int{7, 9}, []int{s.FlowLabel, s.HopLimit})
		}},
		{"-F -S 3 -i 1 -X 2 --report-per-port", func(t *testing.T, s *Settings) {
			require.Len(t, s.notes, 3, s.notes)
		}},
	} {
		t.Run(c.args, func(t *testing.T) {
			s, err := parse(writeBW, strings.Fields(c.args))
			require.NoError(t, err)
			c.check(t, s)
		})
	}
}

// Every error names the flag, its value and the possible values.
func TestBadFlags(t *testing.T) {
	for _, c := range []struct {
		test Test
		args string
		says string
	}{
		{writeBW, "--bogus", "unknown flag: --bogus"},
		{writeBW, "--tx_dept 3", "did you mean --tx-depth?"},
		{writeBW, "--histogram", "did you mean --report-histogram?"},
		{writeBW, "-Z", "unknown shorthand flag"},
		{writeBW, "--cc swift --offload bluefield", "--offload bluefield: unknown driver " +
			"\"bluefield\", want process, soft or off"},
		{writeBW, "--offload soft",
			"--offload soft: no congestion control to offload; add --cc"},
		{writeBW, "-n", "flag needs an argument"},
		{writeBW, "-n x", "invalid argument \"x\" for \"-n, --iters\""},
		{writeBW, "-n 4", "--iters 4: want 5 to 1000000000"},
		{writeBW, "-s 0", "--size 0: want 1 to 8388608"},
		{writeBW, "-s 9M", "want at most 8388608"},
		{writeBW, "-m 1000", "--mtu 1000: want 256, 512, 1024, 2048 or 4096"},
		{writeBW, "-q 0", "--qp 0: want 1 to 16384"},
		{writeBW, "-t 0", "--tx-depth 0: want 1 to 65536"},
		{writeBW, "-l 200", "--post_list 200: want at most --tx-depth 128"},
		{writeBW, "-Q 200", "--cq-mod 200: want at most --tx-depth 128"},
		{writeBW, "-q 16384 -t 1024",
			"--qp 16384, --tx-depth 1024: want a product of at most 4194304"},
		{sendBW, "-q 16384", "--qp 16384, --rx-depth 512: want a product of at most 4194304"},
		{writeBW, "-q 16384 -s 1M", "--qp 16384: buffers of 1048576 bytes in each direction"},
		{writeBW, "-p 70000", "--port 70000: want 1 to 65535"},
		{writeBW, "-c XRC", "want RC, UC or UD"},
		{writeBW, "-c UD", "--connection UD: roce_write_bw needs RC or UC"},
		{readBW, "-c UC", "--connection UC: roce_read_bw needs RC"},
		{readBW, "-o 500", "--outs 500: want 1 to 128"},
		{atomicBW, "-s 4", "unknown shorthand flag"},
		{atomicBW, "-A XOR", "want FETCH_AND_ADD or CMP_AND_SWAP"},
		{writeLat, "-q 2", "unknown shorthand flag"},
		{writeLat, "-U -D 3", "--report-unsorted: needs --iters"},
		{writeLat, "--output bandwidth", "--output bandwidth: roce_write_lat supports latency"},
		{writeBW, "--output latency", "supports bandwidth, message_rate"},
		{writeBW, "-D 4 -f 2", "--margin 2: want less than half of --duration 4"},
		{writeBW, "-D 4 -a", "--duration and --all"},
		{writeBW, "-D -1", "want seconds"},
		{writeBW, "-D soon", "want seconds"},
		{writeBW, "-d nic:0", "--ib-dev nic:0"},
		{writeBW, "localhost", "both ends run in this process"},
		{writeBW, "-d null: a b", "want at most one server"},
		{writeBW, "-x 1", "--gid-index 1: want 0, the link-local address, or the number"},
		{writeBW, "--ip 10.0.0.1", "want an address with its prefix length"},
		{writeBW, "--ip 224.0.0.1/24", "want a unicast address"},
		{writeBW, "--cc quick", `unknown algorithm "quick", want one of bolt`},
		{writeBW, "--cc fixed:beta=1", `unknown parameter "beta"`},
		{writeBW, "--cc fixed:window=0", "window"},
		{writeBW, "--prio 3", "--prio 3: cc: fixed has no delay target to move, " +
			"want ledbat-dc or swift"},
		{writeBW, "--cc swift --prio 8",
			"--prio 8: prioplus: priority 8 out of range [0, 8)"},
		{writeBW, "--cc swift --prio 1,-1",
			"--prio -1: prioplus: priority -1 out of range"},
		{writeBW, "--cc swift --prio high", "invalid argument \"high\" for \"--prio\""},
		{writeBW, "--cc swift --channels 8", "--channels: no queue pair has a priority; add " +
			"--prio"},
		{writeBW, "--cc swift --prio 1 --channels 0", "n=0 is outside [1, 256]"},
		{writeBW, "--cc swift --prio 1 --channels a=0s", "a=0s is outside (0s, 10ms]"},
		{writeBW, "--cc swift:base_target=3us --prio 1",
			"base_target=3us cannot be given to a flow with a channel"},
		{writeBW, "--tocc k=0", "k=0 is outside [1B, 1MiB]"},
		{writeBW, "--tocc bolt", `unknown scheme "bolt", want one of expresspass`},
		{writeBW, "--tocc generation=rate", "with rate-based generation it cannot be predicted"},
		{writeBW, "--tocc k=4096 -c UC", "--connection UC: --tocc needs RC"},
		{sendBW, "--tocc k=4096 -c UD", "--connection UD: --tocc needs RC"},
		{sendBW, "--carc llc=1B", "llc=1B, want at least one line of 64B"},
		{sendBW, "--carc cache=4MiB", "cache"},
		{sendBW, "--carc llc=4MiB -c UC", "--connection UC: --carc needs RC"},
		{sendBW, "--carc llc=4MiB,mode=rr",
			"--carc mode=rr: roce_send_bw has no responses"},
		{sendBW, "--carc llc=4MiB --queues 2 -q 2",
			"--queues 2: --carc supports one queue"},
		{writeBW, "--carc llc=4MiB", "the receiver must see completions to return credits; add " +
			"--write_with_imm"},
		{readBW, "--carc llc=4MiB", "--carc: credits apply to SENDs and WRITEs"},
		{readBW, "--work 1us", "unknown flag: --work"},
		{writeBW, "--work 1us", "--work: the receiver must see completions"},
		{writeBW, "--work 1us --write_with_imm --data_validation",
			"--data_validation: with --work"},
		{sendBW, "--work 2s", "--work 2s: want 0 to 1s"},
		{sendBW, "--work 1us -s 0", "--size 0: want 1 to 8388608"},
		{sendBW, "--work 1us -q 0", "--qp 0: want 1 to 16384"},
		{sendBW, "--work 1us -s -1", "-1"},
		{sendBW, "--work 1us -c UD", "--connection UD: --work needs RC"},
		{readBW, "--tocc k=4096",
			"--tocc: tokens apply to SENDs and WRITEs, not to roce_read_bw"},
		{writeBW, "--idle nap", "want spin, pause or sleep"},
		{writeBW, "--queues 2", "--queues 2: want at most --qp 1"},
		{writeBW, "--tclass 256", "--tclass 256: want 0 to 255"},
		{writeBW, "-u -1", "--qp-timeout -1: want 0 to 31"},
		{writeBW, "-u 32", "--qp-timeout 32: want 0 to 31"},
		{writeBW, "--retry_count 8", "--retry_count 8: want 0 to 7"},
		{writeBW, "-w -1", "--limit_bw -1: want at least 0"},
		{writeBW, "--connect-timeout 2", "want a number with unit"},
		{writeBW, "--out_json_file=/no/such/dir/x.json", "--out_json_file /no/such/dir/x.json"},
		{writeBW, "-n 1 -q 0 -m 1", "--mtu 1"},
		{writeBW, "-i 2", "--ib-port 2: want 1: the URL of --ib-dev names one port"},
		{writeBW, "--odp", "--odp: not supported: registered memory"},
		{writeBW, "-W counters/x", "--report-counters: not supported"},
		{writeBW, "--force-link=IB", "--force-link IB: want Ethernet"},
		{writeBW, "--use_cuda=0", "no port can access a GPU's memory"},
		{writeBW, "--cpu_util", "--cpu_util: needs --duration"},
		{writeBW, "--perform_warm_up -D 3", "--perform_warm_up: with --duration"},
		{writeBW, "--ipv6 -x 0", "--ipv6 and --gid-index are mutually exclusive"},
		{writeBW, "--rate_units g", "no rate; add --rate_limit"},
		{writeBW, "--rate_limit 1 --rate_units k", "--rate_units k: want g"},
		{writeBW, "--rate_limit 1 --rate_units p", "add --rate_limit_type SW"},
		{writeBW, "--rate_limit 1 --cc swift", "--cc sets the rate of each queue pair"},
		{writeBW, "--rate_limit 1 --rate_limit_type X", "want HW, SW or PP"},
		{writeBW, "--rate_limit 1 --burst_size 3", "the transport sends packet by packet"},
		{writeBW, "--run_infinitely --data_validation", "not with --run_infinitely"},
		{writeBW, "--use-srq", "unknown flag: --use-srq"},
		{sendBW, "--use-srq --work 1us", "--use-srq: want no --work"},
		{writeBW, "--flow_label 1048576", "want 0 to 1048575"},
	} {
		t.Run(c.test.Name()+" "+c.args, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, cli.Misuse, Run(t.Context(), c.test, strings.Fields(c.args), &out,
				&errs))
			require.Contains(t, errs.String(), c.says)
			require.Contains(t, errs.String(), c.test.Name()+": ")
			require.Empty(t, out.String())
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, test := range everyTest {
		var out, errs bytes.Buffer
		require.Equal(t, cli.OK, Run(t.Context(), test, []string{"--help"}, &out, &errs))
		for _, want := range []string{"Session", "Traffic", "Port (goroce)", "Output", "Examples:",
			"-d, --ib-dev", "(default 18515)", "--out_json_file", test.Name()} {
			require.Contains(t, out.String(), want)
		}
		for l := range strings.Lines(out.String()) {
			require.LessOrEqual(t, len(l), 120, l)
		}
		require.Empty(t, errs.String())
		out.Reset()
		require.Equal(t, cli.OK, Run(t.Context(), test, []string{"-V"}, &out, &errs))
		require.Contains(t, out.String(), "DPDK")
	}
}

func TestSizes(t *testing.T) {
	s, err := parse(writeBW, []string{"-a"})
	require.NoError(t, err)
	sizes := s.sizes(4096)
	require.Equal(t, 23, len(sizes))
	require.Equal(t, []int{2, 1 << 23}, []int{sizes[0], sizes[22]})
	s, err = parse(sendBW, []string{"-a", "-c", "UD"})
	require.NoError(t, err)
	sizes = s.sizes(1024)
	require.Equal(t, 1024, sizes[len(sizes)-1])
}

// Every entry of the header and of test_info is declared once.
func TestColumns(t *testing.T) {
	for _, test := range everyTest {
		s, err := parse(test, nil)
		require.NoError(t, err)
		names, keys := map[string]bool{}, map[string]bool{}
		for _, c := range (&session{settings: s}).columns() {
			require.False(t, c.name != "" && names[c.name], c.name)
			require.False(t, c.key != "" && keys[c.key], c.key)
			require.NotEmpty(t, c.name+c.key)
			names[c.name], keys[c.key] = true, true
		}
		for _, g := range s.table(&extras{}).Groups {
			for _, f := range g.Flags {
				require.True(t, f.Absent || f.Column == "" || names[f.Column], f.Name)
				require.True(t, f.Absent || f.JSON == "" || keys[f.JSON], f.Name)
			}
		}
	}
}
