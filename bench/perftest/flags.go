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

// Errors of the command line that are not errors of its content.
var (
	errHelp    = errors.New("help asked for")
	errVersion = errors.New("version asked for")
)

// group is a part of the flags under a heading of --help.
type group struct {
	title string
	*pflag.FlagSet
}

// extras are flags that are not settings.
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
	add("Port (ours)", s.portFlags)
	add("Output", func(f *pflag.FlagSet) { s.outputFlags(f, x) })
	if s.Test.Kind == Bandwidth {
		add("Verdict (exit code 1 below)", s.verdictFlags)
	}
	add("Other", func(f *pflag.FlagSet) {
		f.BoolVarP(&x.cpuFreq, "CPU-freq", "F", false, "accepted and ignored, as scripts give it")
		f.BoolVarP(&x.version, "version", "V", false, "print the version")
		f.BoolVarP(&x.help, "help", "h", false, "print this")
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
		"which of the --ip addresses to use, by its `number` from 0")
	f.BoolVar(&s.Upstream, "upstream", false,
		"measure as with linux-rdma's perftest also when the peer is goroce; one end may say so")
	f.BoolVarP(&s.CM, "rdma_cm", "R", false,
		"connect by the RDMA CM, and do the handshake over it instead of TCP;\n"+
			"HOST is then the server's RoCE address (RC, as with --upstream)")
	f.Var((*duration)(&s.ConnectTimeout), "connect-timeout",
		"how long a client tries to reach its server, either end the other,\nand a link")
}

func (s *Settings) trafficFlags(f *pflag.FlagSet) {
	t, bw := s.Test, s.Test.Kind == Bandwidth
	if t.Verb != Atomic {
		f.VarP((*size)(&s.Size), "size", "s", "message size in `bytes`; K and M are understood")
		f.BoolVarP(&s.All, "all", "a", false, "all sizes from 2 to 2^23")
	}
	f.IntVarP(&s.Iters, "iters", "n", s.Iters, "`number` of messages (of each queue pair)")
	f.VarP((*seconds)(&s.Duration), "duration", "D", "run for so many `seconds` instead of --iters")
	f.VarP((*seconds)(&s.Margin), "margin", "f",
		"`seconds` at either end of --duration that do not count (default 2, at most a quarter)")
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
		f.IntVarP(&s.PostList, "post_list", "l", s.PostList, "post so many `messages` at a time")
		f.IntVarP(&s.CQMod, "cq-mod", "Q", 0,
			"one completion for so many `messages` (default 100, 1 above 8192 bytes)")
	}
	if t.oneSided() {
		f.IntVarP(&s.Outs, "outs", "o", s.Outs,
			"READs and atomics outstanding on the wire, `number`")
	}
	if t.Verb == Atomic {
		f.VarP(&s.AtomicType, "atomic_type", "A", "`operation`: FETCH_AND_ADD or CMP_AND_SWAP")
	}
	if t.Verb == Write {
		f.BoolVar(&s.WriteWithImm, "write_with_imm", false, "WRITE with immediate data")
	}
	if !t.oneSided() {
		f.Var((*duration)(&s.Work), "work", "`time` that the receiving program takes with each "+
			"message (send, write with immediate), beside reading every\n"+
			"line of it; messages wait for their turn in buffers of their own, as many as "+
			"--rx-depth (default then\n"+
			"twice the last-level cache, of all queue pairs)")
		f.Lookup("work").DefValue = "0"
	}
	f.BoolVar(&s.Validate, "data_validation", false,
		"check every byte where it arrives (WRITE: what lies there at the end)")
}

func (s *Settings) qosFlags(f *pflag.FlagSet, x *extras) {
	f.IntVar(&s.TrafficClass, "tclass", 0, "traffic class: DSCP and ECN, a `byte`")
	f.IntVarP(&s.TrafficClass, "tos", "T", 0,
		"the same `byte`: perftest's name for it, with --rdma_cm")
	f.IntVar(&s.AnswerClass, "ack-tclass", s.AnswerClass,
		"traffic class of ACKs and CNPs, a `byte`; best one that goes first")
	f.IntVarP(&s.QPTimeout, "qp-timeout", "u", s.QPTimeout,
		"`exponent` of the ACK timeout, 4.096 us * 2^u; 0 is never "+
			"(default 14, on loop: 18)")
	f.Lookup("qp-timeout").DefValue = "0" // which is not printed
	f.IntVar(&s.RetryCount, "retry_count", s.RetryCount,
		"`times` to retry before giving up, 0 to 7")
	x.ccHelp = noHelp
	f.Var(&congestion{specs: (*[]cc.Spec)(&s.Congestion), help: &x.ccHelp}, "cc",
		"congestion `control`, such as swift:base_target=25us,beta=0.8; repeatable: queue pairs "+
			"take them\n"+
			"in turn; help lists the algorithms, help=swift explains the parameters of one; bolt "+
			"and "+
			"hpcc\n"+
			"need switches that take part, as simulated ones do, and are refused")
	f.IntSliceVar(&s.Priorities, "prio", nil, "virtual `priorities` within one traffic class "+
		"(PrioPlus), around a control that steers to a delay:\n"+
		"queue pairs take them in turn; 0 is the lowest (default none)")
	f.Var(&channels{&s.Channels, &x.channelsHelp}, "channels", "the `table` of virtual "+
		"priorities, the same at every sender: how many, or such as n=12,a=3.2us,b=0.8us;\n"+
		"help explains it and shows the one given")
	f.Lookup("channels").DefValue = ""
	f.Var(&admission[tocc.Spec]{&s.Tokens, tocc.Parse, "tocc", &x.admissionHelp,
		admissionHelp{"--tocc", tocc.Help}}, "tocc", "receiver-driven `tokens` for SENDs and "+
		"WRITEs (ToCC), beside --cc, such as unsch=0,k=4096, or a scheme such as\n"+
		"homa; both ends give it, or the run goes on without, and says so; help explains it")
	if s.Test.oneSided() {
		_ = f.MarkHidden("tocc")
	}
	f.Var(&admission[carc.Spec]{&s.Cache, carc.Parse, "carc", &x.admissionHelp,
		admissionHelp{"--carc", carc.Help}}, "carc", "credits for what the receiver's last-level "+
		"`cache` has room for (CARC), beside --cc and --tocc, such as llc=4MiB;\n"+
		"what is not said is the machine's. For messages with a completion at the receiver; both "+
		"ends give it, or\n"+
		"the run goes on without, and says so; help explains it")
	if s.Test.oneSided() {
		_ = f.MarkHidden("carc")
	}
	f.StringVar(&s.Offload, "offload", s.Offload, "`driver` behind which congestion control "+
		"runs: off is none, in line; soft, a soft NIC; process, a\n"+
		"soft NIC in a process of its own. What decides is polled by a core of its own if "+
		"--cores names one")
	f.Var((*bitRate)(&s.LineRate), "line-rate",
		"`rate` of the port, for --cc (default what the port says, else 100Gb/s)")
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
	f.Var((*addresses)(&s.Gateways), "gateway", "`address` that leads off the prefixes, repeatable")
	f.IntSliceVar(&s.Cores, "cores", nil, "`CPUs` to pin the polling threads to; on loop: the "+
		"client's first; those behind the polling ones\n"+
		"are for --offload (default none)")
	f.Var(&s.Idle, "idle",
		"`policy` of a polling core without work: spin; pause, which spares power; sleep,\n"+
			"which naps after 25 us and lets a peer on a busy machine have the core")
	f.IntVar(&s.Queues, "queues", s.Queues,
		"`number` of port queues, a polling core each; queue pairs are dealt out over them")
	f.StringVar(&s.Pcap, "pcap", "",
		"write what crosses the port to this `file` (on loop: the client's)")
	f.Uint64Var(&s.Seed, "seed", 0, "`number` that keys and PSNs are computed from, for runs "+
		"that must repeat; anybody can predict them then (default none)")
	f.StringVar(&s.EAL, "eal", "", "more `arguments` for DPDK's EAL")
}

func (s *Settings) outputFlags(f *pflag.FlagSet, x *extras) {
	if s.Test.Kind == Bandwidth {
		f.BoolVarP(&s.NoPeak, "noPeak", "N", false, "no peak bandwidth")
		f.BoolVar(&s.Gbits, "report_gbits", false, "Gb/sec instead of MiB/sec")
		f.StringVar(&s.Output, "output", "", "print only one `number`: bandwidth or message_rate")
	} else {
		f.StringVar(&s.Output, "output", "", "print only one `number`: latency")
		f.BoolVarP(&s.Unsorted, "report-unsorted", "U", false, "print every sample, in order")
	}
	f.BoolVar(&s.Watch, "watch", false, "show each second what congestion control does, and how "+
		"much of the time poll gaps took (docs/hosts.md), on standard error")
	f.StringVar(&s.WatchJSON, "watch_json", "",
		"append it to this `file` as lines of JSON, - for standard output")
	f.BoolVarP(&s.Histogram, "report-histogram", "H", false, "print the histogram of latencies")
	f.BoolVar(&x.outJSON, "out_json", false, "write a JSON document")
	f.StringVar(&x.jsonFile, "out_json_file", "perftest_out.json",
		"to this `file`, - for standard output; implies --out_json")
}

func (s *Settings) verdictFlags(f *pflag.FlagSet) {
	f.Float64VarP(&s.LimitBW, "limit_bw", "w", 0, "least bandwidth, in the `unit` shown")
	f.Float64VarP(&s.LimitMsgRate, "limit_msgrate", "y", 0, "least message rate, `millions/s`")
}

// parse reads a command line.
func parse(t Test, args []string) (*Settings, error) {
	s, x := defaults(t), &extras{}
	all := pflag.NewFlagSet(t.Name(), pflag.ContinueOnError)
	all.Usage = func() {}
	for _, g := range groups(s, x) {
		all.AddFlagSet(g.FlagSet)
	}
	all.SetNormalizeFunc(spelling(all))
	switch err := all.Parse(args); {
	case err != nil:
		return nil, near(err, all)
	case x.help:
		return nil, errHelp
	case x.ccHelp != noHelp:
		return nil, ccHelp(x.ccHelp)
	case x.channelsHelp:
		return nil, channelsHelp{s.Channels, s.examplePath()}
	case x.admissionHelp.write != nil:
		return nil, x.admissionHelp
	case all.Changed("channels") && len(s.Priorities) == 0:
		return nil, errors.New("--channels: nobody has a priority; give --prio")
	case x.version:
		return nil, errVersion
	}
	switch rest := all.Args(); len(rest) {
	case 0:
	case 1:
		s.Host = rest[0]
	default:
		return nil, fmt.Errorf("%s: one server at most", strings.Join(rest, " "))
	}
	if x.outJSON || all.Changed("out_json_file") {
		s.JSONFile = x.jsonFile
		if s.JSONFile == "" {
			return nil, errors.New("--out_json_file: empty name")
		}
	}
	if s.inProcess() && !all.Changed("qp-timeout") {
		// Nothing is lost on the way, but a busy machine may keep the peer from its core for longer
		// than all retries of a network take.
		s.QPTimeout = loopQPTimeout
	}
	if s.Work > 0 && s.Test.Kind == Bandwidth && !all.Changed("rx-depth") {
		s.RxDepth = s.workDepth()
	}
	s.complete()
	return s, s.validate()
}

// spelling lets - stand for _ and the reverse: perftest has both, and nobody remembers where.
func spelling(fs *pflag.FlagSet) func(*pflag.FlagSet, string) pflag.NormalizedName {
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

// near adds to the error of an unknown flag those that look like it.
func near(err error, fs *pflag.FlagSet) error {
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
	return fmt.Errorf("%w; is it %s?", err, strings.Join(like, " or "))
}

// distance is how many letters to insert, delete or change to come from a to b (Levenshtein).
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

// Kinds of flags that pflag has not.
type (
	connection transport.QPType
	size       int
	seconds    units.Duration
	duration   units.Duration
)

// Set reads a connection type.
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

// Type names the argument.
func (c *connection) Type() string { return "type" }
