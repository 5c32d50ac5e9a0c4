package pingpong

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/bench/observe"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/units"
)

// settings are the parsed and validated command line. Names and defaults are ibv_rc_pingpong's.
type settings struct {
	Host     string // server to connect to; empty: be the server, or both ends on loop:
	Port     int
	Size     units.Bytes
	MTU      units.Bytes
	RxDepth  int
	Iters    int
	SL       int
	GIDIndex int
	Check    bool

	Device   string
	Addrs    []netip.Prefix
	Gateways []netip.Addr
	Idle     goroce.Idle
	Pcap     string
	EAL      string
	Timeout  units.Duration
	Control  func() cc.Algorithm // nil: the transport's default
	Observe  observe.Flags
	observer *observe.Observer // while the program runs
}

// Limits of a run.
const (
	maxSize  = units.GiB
	maxIters = 1_000_000_000
	maxSL    = 15
)

// Assumed properties of the path, for --cc.
const (
	lineRate = 100 * units.Gbps
	baseRTT  = 20 * units.Microsecond
)

// words are flags that are converted to settings of other types.
type words struct {
	size, timeout string
	mtu           int
	addrs         []string
	gateways      []string
	control       string
}

func defaults() (*settings, *words) {
	return &settings{Port: 18515, RxDepth: 500, Iters: 1000, Device: "loop:"},
		&words{size: "4096", mtu: 1024, timeout: "10s"}
}

// table declares the flags, bound to settings.
func (s *settings) table(w *words) *cli.Table {
	flags := slices.Concat(s.pingPongFlags(w), s.portFlags(w), s.Observe.Table())
	return &cli.Table{ShortNames: true, Groups: []cli.Group{{Flags: flags}}}
}

func (s *settings) pingPongFlags(w *words) []cli.Flag {
	return []cli.Flag{
		{Name: "port", Short: "p", Value: &s.Port, Bounds: cli.Within(1, 65535),
			Agreement: cli.Implied, Help: "TCP `port` of the handshake"},
		{Name: "size", Short: "s", Value: &w.size,
			Check: func(name string) error { return s.readSize(name, w.size) },
			Help:  "`bytes` of a message; suffixes K and M are allowed"},
		{Name: "mtu", Short: "m", Value: &w.mtu,
			Check: func(name string) error { return s.readMTU(name, w.mtu) },
			Help:  "path MTU in `bytes`; not negotiated, must match the peer's"},
		{Name: "rx-depth", Short: "r", Value: &s.RxDepth,
			Bounds: cli.Within(1, endpoint.MaxQueueDepth), Help: "number of `receives` to post"},
		{Name: "iters", Short: "n", Value: &s.Iters, Bounds: cli.Within(1, maxIters),
			Help: "`number` of messages each way, the same at the peer"},
		{Name: "sl", Short: "l", Value: &s.SL, Bounds: cli.Within(0, maxSL),
			Help: "service `level`, {bounds}; not transmitted by RoCEv2 without priority tags"},
		{Name: "chk", Short: "c", Value: &s.Check,
			Help: "check every byte received; the client must use it too"},
		{Name: "gid-idx", Short: "g", Value: &s.GIDIndex,
			Help: "index `number` of the --ip address to use, from 0"},
	}
}

func (s *settings) portFlags(w *words) []cli.Flag {
	return []cli.Flag{
		{Name: "ib-dev", Short: "d", Value: &s.Device,
			Help: "`URL` of the port: loop: (both ends in this process) " +
				"memif:/path/sock[,client]\n" +
				"af_packet:eth0 af_xdp:eth0 tap:NAME pci:0000:3b:00.0 eal:VDEV"},
		{Name: "ip", Value: &w.addrs,
			Check: func(name string) (err error) {
				s.Addrs, err = cli.ParsePrefixes(name, w.addrs)
				return err
			},
			Help: "`address` of the port, ADDR/LEN, repeatable (default its IPv6 link-local " +
				"address)"},
		{Name: "gateway", Value: &w.gateways,
			Check: func(name string) (err error) {
				s.Gateways, err = cli.ParseAddrs(name, w.gateways)
				return err
			},
			Help: "next hop `address` for destinations outside the prefixes, repeatable"},
		{Name: "idle", Value: &s.Idle,
			Help: "`policy` of the polling core without work: spin, pause or sleep"},
		{Name: "cc", Value: &w.control,
			Check: func(name string) error { return s.readControl(name, w.control) },
			Help: "congestion `control`, such as swift:base_target=25us; it assumes a path of " +
				"20us and 100Gb/s"},
		{Name: "pcap", Value: &s.Pcap,
			Help: "write the port's frames to this `file` (on loop: the client's)"},
		{Name: "timeout", Value: &w.timeout,
			Check: func(name string) error { return s.readTimeout(name, w.timeout) },
			Help: "`time` without a message from the peer, or without a connection to the " +
				"server, after which to give up"},
		{Name: "eal", Value: &s.EAL, Help: "additional `arguments` for DPDK's EAL"},
	}
}

// parse parses a command line.
func parse(args []string) (*settings, error) {
	s, w := defaults()
	table := s.table(w)
	f := table.FlagSet(name)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return s, s.settle(table, f.Args())
}

// settle validates the settings after the flags of the table have been parsed.
func (s *settings) settle(table *cli.Table, rest []string) error {
	if len(rest) > 0 {
		s.Host = rest[0]
	}
	return errors.Join(table.Validate(), s.check())
}

func (s *settings) readSize(name, text string) (err error) {
	if s.Size, err = units.ParseBytes(text); err != nil {
		return fmt.Errorf("%s %s: %w", name, text, err)
	}
	return cli.Within(1, int(maxSize)).Check(name, int64(s.Size))
}

func (s *settings) readMTU(name string, n int) error {
	if s.MTU = units.Bytes(n); endpoint.IsPathMTU(s.MTU) {
		return nil
	}
	return fmt.Errorf("%s %d: want 256, 512, 1024, 2048 or 4096", name, n)
}

func (s *settings) readTimeout(name, text string) (err error) {
	if s.Timeout, err = units.ParseDuration(text); err != nil || s.Timeout <= 0 {
		return fmt.Errorf("%s %s: want a duration such as 10s", name, text)
	}
	return nil
}

func (s *settings) readControl(name, text string) error {
	if text == "" {
		return nil
	}
	path := cc.Path{LineRate: lineRate, BaseRTT: baseRTT, Payload: s.MTU, Signals: cc.SignalDelay}
	spec, err := cc.Parse(text)
	if err == nil {
		_, err = spec.New(path)
	}
	if err != nil {
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "cc: "))
	}
	s.Control = func() cc.Algorithm {
		a, _ := spec.New(path) // cannot fail: checked above
		return a
	}
	return nil
}

// check validates the settings that depend on each other.
func (s *settings) check() error {
	err := cli.Within(0, max(0, len(s.Addrs)-1)).Check("-g", s.GIDIndex)
	if s.inProcess() && s.Host != "" {
		err = errors.Join(err, fmt.Errorf(
			"%s: want no server with -d loop:, where both ends run in this process", s.Host))
	}
	return err
}

// inProcess reports whether both ends run in this process.
func (s *settings) inProcess() bool { return strings.HasPrefix(s.Device, "loop:") }

// cores returns the number of polling cores.
func (s *settings) cores() int {
	if s.inProcess() {
		return 2
	}
	return 1
}

const synopsis = `roce_rc_pingpong exchanges SENDs over a DPDK port with itself or with
ibv_rc_pingpong.

  roce_rc_pingpong [flags]              both ends in this process, over loop:
  roce_rc_pingpong -d URL [flags]       the server: waits for one client
  roce_rc_pingpong -d URL [flags] HOST  the client
`

const example = `  roce_rc_pingpong -d af_packet:eth0 --ip 10.0.0.5/24 -c 10.0.0.1
with Linux, whose address is 10.0.0.1, running ibv_rc_pingpong -g 1 -c`
