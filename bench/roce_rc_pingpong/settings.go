package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/units"
)

var errHelp = errors.New("help requested")

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
	help          bool
}

func defaults() (*settings, *words) {
	return &settings{Port: 18515, RxDepth: 500, Iters: 1000, Device: "loop:"},
		&words{size: "4096", mtu: 1024, timeout: "10s"}
}

func flags(s *settings, w *words) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	f.IntVarP(&s.Port, "port", "p", s.Port, "TCP `port` of the handshake")
	f.StringVarP(&w.size, "size", "s", w.size, "`bytes` of a message; suffixes K and M are allowed")
	f.IntVarP(&w.mtu, "mtu", "m", w.mtu,
		"path MTU in `bytes`; not negotiated, must match the peer's")
	f.IntVarP(&s.RxDepth, "rx-depth", "r", s.RxDepth, "number of `receives` to post")
	f.IntVarP(&s.Iters, "iters", "n", s.Iters,
		"`number` of messages each way, the same at the peer")
	f.IntVarP(&s.SL, "sl", "l", 0,
		"service `level`, 0 to 15; not transmitted by RoCEv2 without priority tags")
	f.BoolVarP(&s.Check, "chk", "c", false,
		"check every byte received; the client must use it too")
	f.IntVarP(&s.GIDIndex, "gid-idx", "g", 0,
		"index `number` of the --ip address to use, from 0")
	f.StringVarP(&s.Device, "ib-dev", "d", s.Device,
		"`URL` of the port: loop: (both ends in this process) memif:/path/sock[,client]\n"+
			"af_packet:eth0 af_xdp:eth0 tap:NAME pci:0000:3b:00.0 eal:VDEV")
	f.StringSliceVar(&w.addrs, "ip", nil,
		"`address` of the port, ADDR/LEN, repeatable (default its IPv6 link-local address)")
	f.StringSliceVar(&w.gateways, "gateway", nil,
		"next hop `address` for destinations outside the prefixes, repeatable")
	f.Var(&s.Idle, "idle", "`policy` of the polling core without work: spin, pause or sleep")
	f.StringVar(&w.control, "cc", "", "congestion `control`, such as swift:base_target=25us; it "+
		"assumes a path of 20us and 100Gb/s")
	f.StringVar(&s.Pcap, "pcap", "",
		"write the port's frames to this `file` (on loop: the client's)")
	f.StringVar(&w.timeout, "timeout", w.timeout, "`time` without a message from the peer, or "+
		"without a connection to the server, after which to give up")
	f.StringVar(&s.EAL, "eal", "", "additional `arguments` for DPDK's EAL")
	f.BoolVarP(&w.help, "help", "h", false, "print this help")
	return f
}

// parse parses a command line.
func parse(args []string) (*settings, error) {
	s, w := defaults()
	f := flags(s, w)
	if err := f.Parse(args); err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	if w.help {
		return nil, errHelp
	}
	if f.NArg() > 1 {
		return nil, fmt.Errorf("%s: want at most one server", strings.Join(f.Args(), " "))
	}
	s.Host = f.Arg(0)
	return s, errors.Join(s.read(w), s.check())
}

// read converts words to settings.
func (s *settings) read(w *words) (err error) {
	if s.Size, err = units.ParseBytes(w.size); err != nil {
		return fmt.Errorf("-s %s: %w", w.size, err)
	}
	if s.Timeout, err = units.ParseDuration(w.timeout); err != nil || s.Timeout <= 0 {
		return errors.Join(fmt.Errorf("--timeout %s: want a duration such as 10s", w.timeout), err)
	}
	for _, a := range w.addrs {
		p, err := netip.ParsePrefix(a)
		if err != nil {
			return fmt.Errorf(
				"--ip %s: want an address with its prefix length, such as 10.0.0.1/24: %w", a, err)
		}
		s.Addrs = append(s.Addrs, p)
	}
	for _, a := range w.gateways {
		g, err := netip.ParseAddr(a)
		if err != nil {
			return fmt.Errorf("--gateway %s: %w", a, err)
		}
		s.Gateways = append(s.Gateways, g)
	}
	s.MTU = units.Bytes(w.mtu)
	return s.readControl(w.control)
}

func (s *settings) readControl(text string) error {
	if text == "" {
		return nil
	}
	path := cc.Path{LineRate: lineRate, BaseRTT: baseRTT, Payload: s.MTU, Signals: cc.SignalDelay}
	spec, err := cc.Parse(text)
	if err == nil {
		_, err = spec.New(path)
	}
	if err != nil {
		return fmt.Errorf("--cc: %s", strings.TrimPrefix(err.Error(), "cc: "))
	}
	s.Control = func() cc.Algorithm {
		a, _ := spec.New(path) // cannot fail: checked above
		return a
	}
	return nil
}

// check validates the settings.
func (s *settings) check() error {
	var errs []error
	within := func(flag string, n, low, high int) {
		if n < low || n > high {
			errs = append(errs, fmt.Errorf("%s %d: want %d to %d", flag, n, low, high))
		}
	}
	within("-p", s.Port, 1, 65535)
	within("-s", int(s.Size), 1, int(maxSize))
	within("-r", s.RxDepth, 1, endpoint.MaxQueueDepth)
	within("-n", s.Iters, 1, maxIters)
	within("-l", s.SL, 0, maxSL)
	within("-g", s.GIDIndex, 0, max(0, len(s.Addrs)-1))
	if !endpoint.IsPathMTU(s.MTU) {
		errs = append(errs, fmt.Errorf("-m %d: want 256, 512, 1024, 2048 or 4096", int64(s.MTU)))
	}
	if s.inProcess() && s.Host != "" {
		errs = append(errs, fmt.Errorf(
			"%s: want no server with -d loop:, where both ends run in this process", s.Host))
	}
	return errors.Join(errs...)
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

func help(w io.Writer) {
	fmt.Fprintf(w, "%s exchanges SENDs over a DPDK port with itself or with ibv_rc_pingpong.\n\n",
		name)
	fmt.Fprintf(w, "  %-36s both ends in this process, over loop:\n", name+" [flags]")
	fmt.Fprintf(w, "  %-36s the server: waits for one client\n", name+" -d URL [flags]")
	fmt.Fprintf(w, "  %-36s the client\n", name+" -d URL [flags] HOST")
	fmt.Fprintf(w, "\n%s", flags(defaults()).FlagUsagesWrapped(110))
	fmt.Fprintf(w, "\nWith Linux, whose address is 10.0.0.1:\n"+
		"  %s -d af_packet:eth0 --ip 10.0.0.5/24 -c 10.0.0.1    there: ibv_rc_pingpong -g 1 -c\n",
		name)
}
