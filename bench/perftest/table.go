package perftest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/metrics"
)

// table declares the flags of a test, bound to its settings. Flags of other tests are in it as
// well: a setting that must match the peer's is compared even if a test has no flag for it.
func (s *Settings) table(x *extras) *cli.Table {
	x.ccHelp, x.jsonFile = ccHelpUnset, defJSONFile
	session := cli.Group{Flags: s.sessionFlags()}
	session.Title = session.Except("Session")
	traffic := cli.Group{Flags: append(s.messageFlags(), s.queueFlags()...)}
	traffic.Title = traffic.Except("Traffic")
	groups := []cli.Group{
		session, traffic,
		{Title: "Quality of service", Flags: append(s.serviceFlags(), s.congestionFlags(x)...)},
		{Title: "Rate limiter", Flags: s.rateFlags()},
		{Title: "Port (goroce)", Flags: s.portFlags()},
		{Title: "Event log (goroce)", Flags: s.traceFlags()},
		{Title: "Output", Flags: s.outputFlags(x)},
		{Title: "Verdict (exit code 1 below the limit)", Flags: s.verdictFlags()},
		{Title: "Other", Flags: otherFlags(x)},
	}
	hidden := cli.Group{Title: "perftest's, without effect", Flags: x.foreign(groups)}
	return &cli.Table{Groups: append(groups, hidden)}
}

// defJSONFile is the default of --out_json_file, which is perftest's.
const defJSONFile = "perftest_out.json"

func (s *Settings) sessionFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "port", Short: "p", Value: &s.Port, Bounds: cli.Within(1, 65535),
			Agreement: cli.Implied,
			Help:      "TCP `port` of the handshake; with --rdma_cm the port of the RDMA CM"},
		{Name: "connection", Short: "c", Value: (*connection)(&s.Connection),
			Agreement: cli.Compared, Column: "Connection type", JSON: "Connection_type",
			Help: "service `type`: RC, UC (send, write) or UD (send)"},
		{Name: "mtu", Short: "m", Value: &s.MTU, Check: s.checkMTU,
			Agreement: cli.ComparedIfGiven, PeerValue: s.peerMTU, Column: "Mtu", JSON: "Mtu",
			Help: "path MTU, 256 to 4096 `bytes` (default the largest that both ports carry)"},
		{Name: "gid-index", Short: "x", Value: &s.GIDIndex, Check: s.checkGIDIndex,
			Column: "GID index", JSON: "GID_index", NoDefault: true,
			Help: "`number` in the port's table of addresses, which is that of Linux's " +
				"soft-RoCE: 0, the IPv6 link-local address; then those of --ip in order (default " +
				"the first of --ip)"},
		{Name: "ipv6", Value: &s.IPv6, Help: "use the first IPv6 address instead of the first one"},
		{Name: "upstream", Value: &s.Upstream,
			Help: "use linux-rdma perftest's protocol even if the peer is goroce; one end " +
				"suffices"},
		{Name: "rdma_cm", Short: "R", Value: &s.CM, Agreement: cli.Implied,
			Column: "rdma_cm QPs\t ", JSON: "rdma_cm_QPs",
			Help: "connect through the RDMA CM and use it instead of TCP for the handshake; " +
				"HOST is then the server's RoCE address (RC; implies --upstream's protocol)"},
		{Name: "com_rdma_cm", Short: "z", Value: &s.RegularPairs, Agreement: cli.Implied,
			Help: "as --rdma_cm for the handshake, but do not connect the queue pairs of the " +
				"test through it"},
		{Name: "connect-timeout", Value: (*duration)(&s.ConnectTimeout),
			Check: s.checkConnectTimeout,
			Help: "how long a client tries to reach its server, either end its peer, and " +
				"the port its link"},
	}
}

func (s *Settings) messageFlags() []cli.Flag {
	t := s.Test
	return []cli.Flag{
		{Name: "size", Short: "s", Value: (*size)(&s.Size), Bounds: cli.Within(1, maxSize),
			Absent: t.Verb == Atomic, Agreement: cli.Compared,
			Help: "message size in `bytes`; suffixes K and M are allowed"},
		{Name: "all", Short: "a", Value: &s.All, Absent: t.Verb == Atomic,
			Agreement: cli.Compared, Help: "all sizes from 2 to 2^23"},
		{Name: "iters", Short: "n", Value: &s.Iters, Bounds: cli.Within(minIters, maxIters),
			Agreement: cli.Compared, PeerValue: s.peerIters,
			Help: "`number` of messages of each queue pair"},
		{Name: "duration", Short: "D", Value: (*seconds)(&s.Duration),
			Agreement: cli.Compared, PeerValue: s.peerDuration, JSON: "duration_s",
			Help: "run for this many `seconds` instead of --iters"},
		{Name: "margin", Short: "f", Value: (*seconds)(&s.Margin),
			Agreement: cli.Compared, PeerValue: s.peerMargin,
			Help: "`seconds` at either end of --duration that are not measured (default 2, at " +
				"most a quarter)"},
		{Name: "run_infinitely", Value: &s.Infinitely, Absent: t.Kind == Latency,
			Agreement: cli.Compared,
			Help: "run until interrupted, and print a row every --duration (default 5) " +
				"seconds"},
		{Name: "perform_warm_up", Value: &s.WarmUp,
			Absent: t.Kind == Latency || t.Verb == Send, Agreement: cli.Compared,
			Help: "fill the send queues once before measuring (write, read, atomic)"},
	}
}

func (s *Settings) queueFlags() []cli.Flag {
	t := s.Test
	lat := t.Kind == Latency
	depth := cli.Within(1, endpoint.MaxQueueDepth)
	return []cli.Flag{
		{Name: "bidirectional", Short: "b", Value: &s.Bidirectional, Absent: lat,
			Agreement: cli.Compared, JSON: "bidirectional", Help: "both ends send"},
		{Name: "qp", Short: "q", Value: &s.QPs, Bounds: cli.Within(1, maxQPs), Absent: lat,
			Agreement: cli.Compared, Column: "Number of qps", JSON: "Number_of_qps",
			Help: "`number` of queue pairs"},
		{Name: "tx-depth", Short: "t", Value: &s.TxDepth, Bounds: depth,
			Column: "TX depth", JSON: "TX_depth", Help: "`messages` outstanding on a queue pair"},
		{Name: "rx-depth", Short: "r", Value: &s.RxDepth, Bounds: depth, Absent: t.isOneSided(),
			Column: "RX depth", JSON: "RX_depth",
			Help: "`receives` posted on a queue pair (send, write with immediate)"},
		{Name: "use-srq", Value: &s.SharedReceive, Absent: t.Verb != Send, Column: "Using SRQ",
			JSON: "Using_SRQ",
			Help: "one shared receive queue of --rx-depth for all queue pairs of a core"},
		{Name: "inline_size", Short: "I", Value: &s.Inline,
			Bounds: cli.Within(0, endpoint.MaxInline), Absent: t.isOneSided(),
			Column: "Max inline data", JSON: "Max_inline_data",
			Help: "largest `bytes` to send inline"},
		{Name: "post_list", Short: "l", Value: &s.PostList, Bounds: cli.Within(1, maxPostList),
			Absent: lat, Column: "Post List", Help: "post this many `messages` at a time"},
		{Name: "cq-mod", Short: "Q", Value: &s.CQMod, Bounds: cli.Within(0, maxCQMod), Absent: lat,
			Column: "CQ Moderation", JSON: "CQ_Moderation",
			Help: "one completion for this many `messages` (default 100, 1 above 8192 bytes)"},
		{Name: "outs", Short: "o", Value: &s.Outs, Bounds: cli.Within(1, endpoint.MaxRdAtomic),
			Absent: !t.isOneSided(), Column: "Outstand reads", JSON: "Outstand_reads",
			Help: "`number` of READs and atomics outstanding on the wire"},
		{Name: "atomic_type", Short: "A", Value: &s.AtomicType, Absent: t.Verb != Atomic,
			Agreement: cli.Compared, Help: "`operation`: FETCH_AND_ADD or CMP_AND_SWAP"},
		{Name: "write_with_imm", Value: &s.WriteWithImm, Absent: t.Verb != Write,
			Agreement: cli.Compared, Help: "WRITE with immediate data"},
		{Name: "work", Value: (*duration)(&s.Work), Check: s.checkWork, Absent: t.isOneSided(),
			NoDefault: true,
			Help: "`time` that the receiving program takes with each message (send, write with " +
				"immediate), after reading every " +
				"line of it; waiting messages have buffers of their own, up to --rx-depth " +
				"(default then " +
				"twice the last-level cache, over all queue pairs)"},
		{Name: "use_hugepages", Value: &s.HugePages,
			Help: "keep messages in huge pages instead of Go's heap"},
		{Name: "data_validation", Value: &s.Validate, Agreement: cli.Compared,
			Help: "check every byte received (WRITE: the final contents)"},
	}
}

func (s *Settings) portFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "ib-dev", Short: "d", Value: &s.Device, Check: s.checkDevice,
			Column: "Device", JSON: "Device",
			Help: "`URL` of the port: loop: (both ends in this process) " +
				"memif:/path/sock[,client] " +
				"af_packet:eth0 af_xdp:eth0 tap:NAME pcap:RX,TX null: pci:0000:3b:00.0 eal:VDEV"},
		{Name: "ip", Value: (*prefixes)(&s.Addrs), Check: s.checkAddrs,
			Help: "`address` of the port, ADDR/LEN, repeatable (default its IPv6 link-local " +
				"address)"},
		{Name: "gateway", Value: (*addresses)(&s.Gateways),
			Help: "next hop `address` for destinations outside the prefixes, repeatable"},
		{Name: "cores", Value: &s.Cores, Bounds: cli.AtLeast(0),
			Help: "`CPUs` to pin the polling threads to; on loop: the client's first; further " +
				"ones " +
				"are for --offload (default none)"},
		{Name: "idle", Value: &s.Idle,
			Help: "`policy` of a polling core without work: spin; pause, which saves power; " +
				"sleep, " +
				"which naps after 25 us and yields the core to other threads"},
		{Name: "events", Short: "e", Value: &s.Events,
			Help: "sleep when there are no completions: the same as --idle sleep"},
		{Name: "queues", Value: &s.Queues, Bounds: cli.Within(1, dpdk.MaxQueues),
			Agreement: cli.Compared,
			Help: "`number` of polling cores, each with a queue of the port or sharing one; " +
				"queue pairs are distributed over them"},
		{Name: "pcap", Value: &s.Pcap,
			Help: "write the port's frames to this `file` (on loop: the client's)"},
		{Name: "seed", Value: &s.Seed,
			Help: "`number` from which keys and PSNs are derived, for reproducible runs; they " +
				"are then predictable (default none)"},
		{Name: "metrics", Value: &s.Metrics, Check: func(name string) error {
			return metrics.CheckAddr(name, s.Metrics)
		}, Help: metrics.FlagHelp},
		{Name: "eal", Value: &s.EAL, Help: "additional `arguments` for DPDK's EAL"},
	}
}

func (s *Settings) outputFlags(x *extras) []cli.Flag {
	lat := s.Test.Kind == Latency
	return []cli.Flag{
		{Name: "noPeak", Short: "N", Value: &s.NoPeak, Absent: lat,
			Help: "do not measure peak bandwidth"},
		{Name: "report_gbits", Value: &s.Gbits, Absent: lat, Agreement: cli.Compared,
			JSON: "BW_unit", Help: "Gb/sec instead of MiB/sec"},
		{Name: "cpu_util", Value: &s.CPUUtil,
			Help: "add the utilization of the processors to the table, in percent of all of them " +
				"(needs --duration)"},
		{Name: "output", Value: &s.Output, Check: s.checkOutput,
			Help: "print only one `number`: " + strings.Join(s.outputs(), " or ")},
		{Name: "report-unsorted", Short: "U", Value: &s.Unsorted, Absent: !lat,
			Help: "print every sample, in order"},
		{Name: "watch", Value: &s.Watch,
			Help: "every second print the state of congestion control and the share of poll gaps " +
				"(docs/hosts.md) to standard error"},
		{Name: "watch_json", Value: &s.WatchJSON,
			Check: func(name string) error { return checkFile(name, s.WatchJSON) },
			Help:  "append the same to this `file` as lines of JSON, - for standard output"},
		{Name: "report-histogram", Short: "H", Value: &s.Histogram,
			Help: "print the histogram of latencies"},
		{Name: "out_json", Value: &x.outJSON, Help: "write a JSON document"},
		{Name: "out_json_file", Value: &x.jsonFile,
			Check: func(name string) error { return checkFile(name, s.JSONFile) },
			Help:  "name of the JSON `file`, - for standard output; implies --out_json"},
	}
}

// outputs returns the values of --output.
func (s *Settings) outputs() []string {
	if s.Test.Kind == Latency {
		return []string{"latency"}
	}
	return []string{"bandwidth", "message_rate"}
}

func (s *Settings) checkOutput(name string) error {
	if s.Output == "" || slices.Contains(s.outputs(), s.Output) {
		return nil
	}
	return fmt.Errorf("%s %s: %s supports %s", name, s.Output, s.Test.Name(),
		strings.Join(s.outputs(), ", "))
}

// checkFile returns an error if a file that a flag names cannot be created.
func checkFile(name, file string) error {
	if file == "" || file == "-" {
		return nil
	}
	if err := checkWritable(filepath.Dir(file)); err != nil {
		return fmt.Errorf("%s %s: %w", name, file, err)
	}
	return nil
}

func (s *Settings) verdictFlags() []cli.Flag {
	lat := s.Test.Kind == Latency
	return []cli.Flag{
		{Name: "limit_bw", Short: "w", Value: &s.LimitBW, Bounds: cli.AtLeast(0), Absent: lat,
			Help: "minimum bandwidth, in the `unit` printed"},
		{Name: "limit_msgrate", Short: "y", Value: &s.LimitMsgRate, Bounds: cli.AtLeast(0),
			Absent: lat, Help: "minimum message rate, `millions/s`"},
	}
}

func otherFlags(x *extras) []cli.Flag {
	return []cli.Flag{
		{Name: "version", Short: "V", Value: &x.version, Help: "print the version"},
		{Name: "help", Short: "h", Value: &x.help, Help: "print this help"},
	}
}
