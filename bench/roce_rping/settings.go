package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Limits of rping: its text includes a number, and its buffers have 64 KiB.
const (
	minSize = 26
	maxSize = 64<<10 - 1
)

// settings are the parsed and validated command line.
type settings struct {
	server     bool
	persistent bool
	address    netip.Addr // the server's
	port       uint16
	count      int // 0: until interrupted
	size       int
	verbose    bool
	validate   bool
	patience   time.Duration

	device   string
	addrs    []netip.Prefix
	gateways []netip.Addr
	idle     goroce.Idle
	pcap     string
	control  func() cc.Algorithm // of a connection; nil: the transport's default
}

// Assumed properties of the path, for --cc.
const (
	lineRate = 100 * units.Gbps
	baseRTT  = 20 * units.Microsecond
)

const usage = `roce_rping is librdmacm's rping over a DPDK port. The other end may be the original rping.

  roce_rping -s -d URL --ip ADDR/LEN [flags]            the server
  roce_rping -c -a SERVER -d URL --ip ADDR/LEN [flags]  the client

%s
Example with "rping -s" at 198.18.0.1:
  roce_rping -c -a 198.18.0.1 -d af_packet:eth0 --ip 198.18.0.101/24 -C 10 -v -V
`

// parse parses a command line. If help was requested, it prints it and returns pflag.ErrHelp.
func parse(args []string, out io.Writer) (*settings, error) {
	s := &settings{}
	f := pflag.NewFlagSet("roce_rping", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() { fmt.Fprintf(out, usage, f.FlagUsagesWrapped(100)) }
	client := false
	var address, control string
	var addrs, gateways []string
	f.BoolVarP(&s.server, "server", "s", false, "be the server: serve one client")
	f.BoolVarP(&client, "client", "c", false, "be the client")
	f.BoolVarP(&s.persistent, "persistent", "P", false,
		"serve clients, several at a time, until interrupted")
	f.StringVarP(&address, "address", "a", "",
		"`address` of the server; at the server, the address to serve")
	f.Uint16VarP(&s.port, "port", "p", 7174, "`port` of the server in librdmacm's TCP port space")
	f.IntVarP(&s.count, "count", "C", 0,
		"`number` of pings of the client; 0 pings until either end is interrupted")
	f.IntVarP(&s.size, "size", "S", 64, "`bytes` of the client's text, 26 to 65535")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "print each text")
	f.BoolVarP(&s.validate, "validate", "V", false, "check each text")
	f.DurationVar(&s.patience, "connect-timeout", 10*time.Second,
		"how long a client tries to reach its server")
	f.StringVarP(&s.device, "device", "d", "",
		"`URL` of the port, such as af_packet:eth0, memif:/path/sock, pci:0000:3b:00.0")
	f.StringSliceVar(&addrs, "ip", nil,
		"`address` of the port, ADDR/LEN, repeatable (default its IPv6 link-local address)")
	f.StringSliceVar(&gateways, "gateway", nil,
		"next hop `address` for destinations outside the prefixes, repeatable")
	f.Var(&s.idle, "idle", "`policy` of the polling core without work: spin, pause, sleep")
	f.StringVar(&control, "cc", "", "congestion `control`, such as swift:base_target=25us; it "+
		"assumes a path of 20us and 100Gb/s")
	f.StringVar(&s.pcap, "pcap", "", "write the port's frames to this `file`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	case s.server == client:
		return nil, errors.New("want either -s (server) or -c (client); see --help")
	case client && address == "":
		return nil, errors.New("-c: want the server's address (-a)")
	case s.persistent && client:
		return nil, errors.New("-P: only for the server")
	case s.device == "":
		return nil, errors.New("-d: want a port such as af_packet:eth0")
	case s.count < 0:
		return nil, fmt.Errorf("-C %d: want at least 0", s.count)
	case s.size < minSize || s.size > maxSize:
		return nil, fmt.Errorf("-S %d: want %d to %d", s.size, minSize, maxSize)
	}
	return s, errors.Join(s.parseControl(control), s.parseAddresses(address, addrs, gateways))
}

func (s *settings) parseControl(text string) error {
	if text == "" {
		return nil
	}
	path := cc.Path{LineRate: lineRate, BaseRTT: baseRTT, Payload: 4 * units.KiB,
		Signals: cc.SignalDelay}
	spec, err := cc.Parse(text)
	if err == nil {
		_, err = spec.New(path)
	}
	if err != nil {
		return fmt.Errorf("--cc: %s", strings.TrimPrefix(err.Error(), "cc: "))
	}
	s.control = func() cc.Algorithm {
		a, _ := spec.New(path) // cannot fail: checked above
		return a
	}
	return nil
}

func (s *settings) parseAddresses(address string, addrs, gateways []string) (err error) {
	if address != "" {
		if s.address, err = netip.ParseAddr(address); err != nil {
			return fmt.Errorf("-a: %w", err)
		}
	}
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a)
		if err != nil {
			return fmt.Errorf(
				"--ip %s: want an address with its prefix length, such as 10.0.0.1/24: %w", a, err)
		}
		s.addrs = append(s.addrs, p)
	}
	for _, a := range gateways {
		g, err := netip.ParseAddr(a)
		if err != nil {
			return fmt.Errorf("--gateway: %w", err)
		}
		s.gateways = append(s.gateways, g)
	}
	return nil
}
