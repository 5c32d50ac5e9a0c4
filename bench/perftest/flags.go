package perftest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Results of parsing that are not errors of the command line.
var (
	errHelp    = errors.New("help requested")
	errVersion = errors.New("version requested")
)

// group is a section of --help: a title and its flags.
type group struct {
	title string
	*pflag.FlagSet
}

// extras are the values of flags that are not settings.
type extras struct {
	help, version, cpuFreq, outJSON bool
	jsonFile                        string
	ccHelp                          string
	channelsHelp                    bool
	admissionHelp                   admissionHelp
}

// groups binds the flags of a test to its settings.
func groups(s *Settings, x *extras) []group {
	var gs []group
	add := func(title string, bind func(*pflag.FlagSet)) {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		bind(fs)
		gs = append(gs, group{title, fs})
	}
	add("Session (the same at both ends, except --gid-index, --upstream and --connect-timeout)",
		s.sessionFlags)
	add("Traffic (the same at both ends, except depths, --post_list, --inline_size, --cq-mod, "+
		"--outs)", s.trafficFlags)
	add("Quality of service", func(f *pflag.FlagSet) { s.qosFlags(f, x) })
	add("Port (goroce)", s.portFlags)
	add("Output", func(f *pflag.FlagSet) { s.outputFlags(f, x) })
	if s.Test.Kind == Bandwidth {
		add("Verdict (exit code 1 below the limit)", s.verdictFlags)
	}
	add("Other", func(f *pflag.FlagSet) {
		f.BoolVarP(&x.cpuFreq, "CPU-freq", "F", false,
			"accepted and ignored, for compatibility with scripts")
		f.BoolVarP(&x.version, "version", "V", false, "print the version")
		f.BoolVarP(&x.help, "help", "h", false, "print this help")
	})
	return gs
}

func (s *Settings) sessionFlags(f *pflag.FlagSet) {
	f.IntVarP(&s.Port, "port", "p", s.Port,
		"TCP `port` of the handshake; with --rdma_cm the port of the RDMA CM")
	f.VarP((*connection)(&s.Connection), "connection", "c",
		"service `type`: RC, UC (send, write) or UD (send)")
	f.IntVarP(&s.MTU, "mtu", "m", 0,
		"path MTU, 256 to 4096 `bytes` (default the largest that both ports carry)")
	f.IntVarP(&s.GIDIndex, "gid-index", "x", 0,
		"index `number` of the --ip address to use, from 0")
	f.BoolVar(&s.Upstream, "upstream", false,
		"use linux-rdma perftest's protocol even if the peer is goroce; one end suffices")
	f.BoolVarP(&s.CM, "rdma_cm", "R", false,
		"connect through the RDMA CM and use it instead of TCP for the handshake;\n"+
			"HOST is then the server's RoCE address (RC; implies --upstream's protocol)")
	f.Var((*duration)(&s.ConnectTimeout), "connect-timeout",
		"how long a client tries to reach its server, either end its peer, and\nthe port its link")
}

func (s *Settings) trafficFlags(f *pflag.FlagSet) {
	t, bw := s.Test, s.Test.Kind == Bandwidth
	if t.Verb != Atomic {
		f.VarP((*size)(&s.Size), "size", "s",
			"message size in `bytes`; suffixes K and M are allowed")
		f.BoolVarP(&s.All, "all", "a", false, "all sizes from 2 to 2^23")
	}
	f.IntVarP(&s.Iters, "iters", "n", s.Iters, "`number` of messages of each queue pair")
	f.VarP((*seconds)(&s.Duration), "duration", "D",
		"run for this many `seconds` instead of --iters")
	f.VarP((*seconds)(&s.Margin), "margin", "f",
		"`seconds` at either end of --duration that are not measured (default 2, at most a quarter)")
	if bw {
		f.BoolVarP(&s.Bidirectional, "bidirectional", "b", false, "both ends send")
		f.IntVarP(&s.QPs, "qp", "q", s.QPs, "`number` of queue pairs")
	}
	f.IntVarP(&s.TxDepth, "tx-depth", "t", s.TxDepth, "`messages` outstanding on a queue pair")
	if t.Verb == Send || t.Verb == Write {
		f.IntVarP(&s.RxDepth, "rx-depth", "r", s.RxDepth,
			"`receives` posted on a queue pair (send, write with immediate)")
		f.IntVarP(&s.Inline, "inline_size", "I", 0, "largest `bytes` to send inline")
	}
	if bw {
		f.IntVarP(&s.PostList, "post_list", "l", s.PostList, "post this many `messages` at a time")
		f.IntVarP(&s.CQMod, "cq-mod", "Q", 0,
			"one completion for this many `messages` (default 100, 1 above 8192 bytes)")
	}
	if t.isOneSided() {
		f.IntVarP(&s.Outs, "outs", "o", s.Outs,
			"`number` of READs and atomics outstanding on the wire")
	}
	if t.Verb == Atomic {
		f.VarP(&s.AtomicType, "atomic_type", "A", "`operation`: FETCH_AND_ADD or CMP_AND_SWAP")
	}
	if t.Verb == Write {
		f.BoolVar(&s.WriteWithImm, "write_with_imm", false, "WRITE with immediate data")
	}
	if !t.isOneSided() {
		f.Var((*duration)(&s.Work), "work", "`time` that the receiving program takes with each "+
			"message (send, write with immediate), after reading every\n"+
			"line of it; waiting messages have buffers of their own, up to --rx-depth (default then\n"+
			"twice the last-level cache, over all queue pairs)")
		f.Lookup("work").DefValue = "0"
	}
	f.BoolVar(&s.Validate, "data_validation", false,
		"check every byte received (WRITE: the final contents)")
}

func (s *Settings) qosFlags(f *pflag.FlagSet, x *extras) {
	f.IntVar(&s.TrafficClass, "tclass", 0, "traffic class: DSCP and ECN, a `byte`")
	f.IntVarP(&s.TrafficClass, "tos", "T", 0,
		"alias of --tclass, a `byte`: perftest's name for it with --rdma_cm")
	f.IntVar(&s.AnswerClass, "ack-tclass", s.AnswerClass,
		"traffic class of ACKs and CNPs, a `byte`; preferably one of high priority")
	f.IntVarP(&s.QPTimeout, "qp-timeout", "u", s.QPTimeout,
		"`exponent` of the ACK timeout, 4.096 us * 2^u; 0 disables it "+
			"(default 14, on loop: 18)")
	f.Lookup("qp-timeout").DefValue = "0" // the zero value is not printed
	f.IntVar(&s.RetryCount, "retry_count", s.RetryCount,
		"`times` to retry before giving up, 0 to 7")
	x.ccHelp = ccHelpUnset
	f.Var(&congestion{specs: (*[]cc.Spec)(&s.Congestion), help: &x.ccHelp}, "cc",
		"congestion `control`, such as swift:base_target=25us,beta=0.8; repeatable: queue pairs "+
			"take them\n"+
			"in turn; help lists the algorithms, help=swift explains the parameters of one; bolt and "+
			"hpcc\n"+
			"need support by switches, as in simulations, and are refused")
	f.IntSliceVar(&s.Priorities, "prio", nil, "virtual `priorities` within one traffic class "+
		"(PrioPlus), around a delay-based algorithm: queue\n"+
		"pairs take them in turn; 0 is the lowest (default none)")
	f.Var(&channels{&s.Channels, &x.channelsHelp}, "channels", "`table` of virtual priorities, "+
		"the same at every sender: their number, or for example n=12,a=3.2us,b=0.8us;\n"+
		"help explains it and shows the given one")
	f.Lookup("channels").DefValue = ""
	f.Var(&admission[tocc.Spec]{&s.Tokens, tocc.Parse, "tocc", &x.admissionHelp,
		admissionHelp{"--tocc", tocc.Help}}, "tocc", "receiver-driven `tokens` for SENDs and "+
		"WRITEs (ToCC), in addition to --cc, such as unsch=0,k=4096, or a scheme such as\n"+
		"homa; if only one end sets it, the run continues without and prints a note; help explains it")
	if s.Test.isOneSided() {
		_ = f.MarkHidden("tocc")
	}
	f.Var(&admission[carc.Spec]{&s.Cache, carc.Parse, "carc", &x.admissionHelp,
		admissionHelp{"--carc", carc.Help}}, "carc", "credits for the capacity of the receiver's "+
		"last-level `cache` (CARC), in addition to --cc and --tocc, such as llc=4MiB;\n"+
		"defaults are the machine's. For messages with a completion at the receiver; if only one end "+
		"sets it,\nthe run continues without and prints a note; help explains it")
	if s.Test.isOneSided() {
		_ = f.MarkHidden("carc")
	}
	f.StringVar(&s.Offload, "offload", s.Offload, "`driver` behind which congestion control "+
		"runs: off, inline; soft, a soft NIC; process, a\n"+
		"soft NIC in a process of its own. The agent is polled by a core of its own if "+
		"--cores names one")
	f.Var((*bitRate)(&s.LineRate), "line-rate",
		"`rate` of the port, for --cc (default what the port reports, else 100Gb/s)")
	f.Lookup("line-rate").DefValue = "0"
	f.Var((*duration)(&s.BaseRTT), "base-rtt", "round-trip `time` through empty queues, for --cc "+
		"(default 20us; with --prio it is measured)")
	f.Lookup("base-rtt").DefValue = "0"
}

func (s *Settings) portFlags(f *pflag.FlagSet) {
	f.StringVarP(&s.Device, "ib-dev", "d", s.Device,
		"`URL` of the port: loop: (both ends in this process) memif:/path/sock[,client]\n"+
			"af_packet:eth0 af_xdp:eth0 tap:NAME pcap:RX,TX null: pci:0000:3b:00.0 eal:VDEV")
	f.Var((*prefixes)(&s.Addrs), "ip",
		"`address` of the port, ADDR/LEN, repeatable (default its IPv6 link-local address)")
	f.Var((*addresses)(&s.Gateways), "gateway",
		"next hop `address` for destinations outside the prefixes, repeatable")
	f.IntSliceVar(&s.Cores, "cores", nil, "`CPUs` to pin the polling threads to; on loop: the "+
		"client's first; further ones\nare for --offload (default none)")
	f.Var(&s.Idle, "idle",
		"`policy` of a polling core without work: spin; pause, which saves power; sleep,\n"+
			"which naps after 25 us and yields the core to other threads")
	f.IntVar(&s.Queues, "queues", s.Queues,
		"`number` of port queues, each with a polling core; queue pairs are distributed over them")
	f.StringVar(&s.Pcap, "pcap", "",
		"write the port's frames to this `file` (on loop: the client's)")
	f.Uint64Var(&s.Seed, "seed", 0, "`number` from which keys and PSNs are derived, for "+
		"reproducible runs; they are then predictable (default none)")
	f.StringVar(&s.EAL, "eal", "", "additional `arguments` for DPDK's EAL")
}

func (s *Settings) outputFlags(f *pflag.FlagSet, x *extras) {
	if s.Test.Kind == Bandwidth {
		f.BoolVarP(&s.NoPeak, "noPeak", "N", false, "do not measure peak bandwidth")
		f.BoolVar(&s.Gbits, "report_gbits", false, "Gb/sec instead of MiB/sec")
		f.StringVar(&s.Output, "output", "", "print only one `number`: bandwidth or message_rate")
	} else {
		f.StringVar(&s.Output, "output", "", "print only one `number`: latency")
		f.BoolVarP(&s.Unsorted, "report-unsorted", "U", false, "print every sample, in order")
	}
	f.BoolVar(&s.Watch, "watch", false, "every second print the state of congestion control "+
		"and the share of poll gaps (docs/hosts.md) to standard error")
	f.StringVar(&s.WatchJSON, "watch_json", "",
		"append the same to this `file` as lines of JSON, - for standard output")
	f.BoolVarP(&s.Histogram, "report-histogram", "H", false, "print the histogram of latencies")
	f.BoolVar(&x.outJSON, "out_json", false, "write a JSON document")
	f.StringVar(&x.jsonFile, "out_json_file", "perftest_out.json",
		"name of the JSON `file`, - for standard output; implies --out_json")
}

func (s *Settings) verdictFlags(f *pflag.FlagSet) {
	f.Float64VarP(&s.LimitBW, "limit_bw", "w", 0, "minimum bandwidth, in the `unit` printed")
	f.Float64VarP(&s.LimitMsgRate, "limit_msgrate", "y", 0, "minimum message rate, `millions/s`")
}

// parse parses a command line.
func parse(t Test, args []string) (*Settings, error) {
	s, x := defaults(t), &extras{}
	all := pflag.NewFlagSet(t.Name(), pflag.ContinueOnError)
	all.Usage = func() {}
	for _, g := range groups(s, x) {
		all.AddFlagSet(g.FlagSet)
	}
	all.SetNormalizeFunc(normalizeFlags(all))
	switch err := all.Parse(args); {
	case err != nil:
		return nil, suggestFlags(err, all)
	case x.help:
		return nil, errHelp
	case x.ccHelp != ccHelpUnset:
		return nil, ccHelp(x.ccHelp)
	case x.channelsHelp:
		return nil, channelsHelp{s.Channels, s.examplePath()}
	case x.admissionHelp.write != nil:
		return nil, x.admissionHelp
	case all.Changed("channels") && len(s.Priorities) == 0:
		return nil, errors.New("--channels: no queue pair has a priority; add --prio")
	case x.version:
		return nil, errVersion
	}
	switch rest := all.Args(); len(rest) {
	case 0:
	case 1:
		s.Host = rest[0]
	default:
		return nil, fmt.Errorf("%s: want at most one server", strings.Join(rest, " "))
	}
	if x.outJSON || all.Changed("out_json_file") {
		s.JSONFile = x.jsonFile
		if s.JSONFile == "" {
			return nil, errors.New("--out_json_file: empty name")
		}
	}
	if s.inProcess() && !all.Changed("qp-timeout") {
		// A loop loses nothing, but a busy machine may keep the peer off its core for longer than
		// all retries on a network take.
		s.QPTimeout = loopQPTimeout
	}
	if s.Work > 0 && s.Test.Kind == Bandwidth && !all.Changed("rx-depth") {
		s.RxDepth = s.workDepth()
	}
	s.complete()
	return s, s.validate()
}

// normalizeFlags accepts - for _ and vice versa, since perftest uses both.
func normalizeFlags(fs *pflag.FlagSet) func(*pflag.FlagSet, string) pflag.NormalizedName {
	fold := func(s string) string { return strings.ReplaceAll(s, "_", "-") }
	known := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { known[fold(f.Name)] = f.Name })
	return func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if to, ok := known[fold(name)]; ok {
			name = to
		}
		return pflag.NormalizedName(name)
	}
}

// suggestFlags adds the flags with similar names to the error of an unknown flag.
func suggestFlags(err error, fs *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	var like []string
	fs.VisitAll(func(f *pflag.Flag) {
		alike := distance(strings.ToLower(name), strings.ToLower(f.Name)) <= 2
		if len(name) > 1 && (alike || strings.Contains(f.Name, name) || strings.Contains(name,
			f.Name)) {
			like = append(like, "--"+f.Name)
		}
	})
	if len(like) == 0 {
		return fmt.Errorf("%w; see --help", err)
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(like, " or "))
}

// distance returns the Levenshtein distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Types of flags that pflag lacks.
type (
	connection transport.QPType
	size       int
	seconds    units.Duration
	duration   units.Duration
)

// Set parses a connection type.
func (c *connection) Set(v string) error {
	for _, t := range []transport.QPType{transport.RC, transport.UC, transport.UD} {
		if strings.EqualFold(v, t.String()) {
			*c = connection(t)
			return nil
		}
	}
	return errors.New("want RC, UC or UD")
}
func (c *connection) String() string { return transport.QPType(*c).String() }

// Type returns the argument's name for --help.
func (c *connection) Type() string { return "type" }
