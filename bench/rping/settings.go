package rping

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/bench/observe"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
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
	observe  observe.Flags
	control  func() cc.Algorithm // of a connection; nil: the transport's default
}

// Assumed properties of the path, for --cc.
const (
	lineRate = 100 * units.Gbps
	baseRTT  = 20 * units.Microsecond
)

const synopsis = `roce_rping is librdmacm's rping over a DPDK port. The other end may be the
original rping.

  roce_rping -s -d URL --ip ADDR/LEN [flags]            the server
  roce_rping -c -a SERVER -d URL --ip ADDR/LEN [flags]  the client
`

const example = `with "rping -s" at 198.18.0.1:
  roce_rping -c -a 198.18.0.1 -d af_packet:eth0 --ip 198.18.0.101/24 -C 10 -v -V`

// words are flags that are converted to settings of other types.
type words struct {
	client           bool
	address, control string
	addrs, gateways  []string
}

// table declares the flags, bound to settings.
func (s *settings) table(w *words) *cli.Table {
	s.port, s.size, s.patience = 7174, 64, 10*time.Second
	return &cli.Table{ShortNames: true, Groups: []cli.Group{
		{Flags: slices.Concat(s.pingFlags(w), s.portFlags(w), s.observe.Table())}}}
}

func (s *settings) pingFlags(w *words) []cli.Flag {
	return []cli.Flag{
		{Name: "server", Short: "s", Value: &s.server, Help: "be the server: serve one client"},
		{Name: "client", Short: "c", Value: &w.client, Help: "be the client"},
		{Name: "persistent", Short: "P", Value: &s.persistent,
			Help: "serve clients, several at a time, until interrupted"},
		{Name: "address", Short: "a", Value: &w.address,
			Check: func(name string) error { return s.parseAddress(name, w.address) },
			Help:  "`address` of the server; at the server, the address to serve"},
		{Name: "port", Short: "p", Value: &s.port, Agreement: cli.Implied,
			Help: "`port` of the server in librdmacm's TCP port space"},
		{Name: "count", Short: "C", Value: &s.count, Bounds: cli.AtLeast(0),
			Help: "`number` of pings of the client; 0 pings until either end is interrupted"},
		{Name: "size", Short: "S", Value: &s.size, Bounds: cli.Within(minSize, maxSize),
			Help: "`bytes` of the client's text, {bounds}"},
		{Name: "verbose", Short: "v", Value: &s.verbose, Help: "print each text"},
		{Name: "validate", Short: "V", Value: &s.validate, Help: "check each text"},
		{Name: "connect-timeout", Value: &s.patience,
			Help: "how long a client tries to reach its server"},
	}
}

func (s *settings) portFlags(w *words) []cli.Flag {
	return []cli.Flag{
		{Name: "device", Short: "d", Value: &s.device, Check: s.checkDevice,
			Help: "`URL` of the port, such as af_packet:eth0, memif:/path/sock, pci:0000:3b:00.0"},
		{Name: "ip", Value: &w.addrs,
			Check: func(name string) (err error) {
				s.addrs, err = cli.ParsePrefixes(name, w.addrs)
				return err
			},
			Help: "`address` of the port, ADDR/LEN, repeatable (default its IPv6 link-local " +
				"address)"},
		{Name: "gateway", Value: &w.gateways,
			Check: func(name string) (err error) {
				s.gateways, err = cli.ParseAddrs(name, w.gateways)
				return err
			},
			Help: "next hop `address` for destinations outside the prefixes, repeatable"},
		{Name: "idle", Value: &s.idle,
			Help: "`policy` of the polling core without work: spin, pause, sleep"},
		{Name: "cc", Value: &w.control,
			Check: func(name string) error { return s.parseControl(name, w.control) },
			Help: "congestion `control`, such as swift:base_target=25us; it assumes a path of " +
				"20us and 100Gb/s"},
		{Name: "pcap", Value: &s.pcap, Help: "write the port's frames to this `file`"},
	}
}

// parse parses a command line.
func parse(args []string) (*settings, error) {
	s, w := &settings{}, &words{}
	table := s.table(w)
	if err := table.FlagSet("roce_rping").Parse(args); err != nil {
		return nil, err
	}
	return s, s.settle(table, w)
}

// settle validates the settings after the flags of the table have been parsed.
func (s *settings) settle(table *cli.Table, w *words) error {
	switch {
	case s.server == w.client:
		return errors.New("want either -s (server) or -c (client)")
	case w.client && w.address == "":
		return errors.New("-c: want the server's address (-a)")
	case s.persistent && w.client:
		return errors.New("-P: only for the server")
	case s.device == "":
		return errors.New("-d: want a port such as af_packet:eth0")
	}
	return table.Validate()
}

func (s *settings) checkDevice(name string) error {
	if strings.HasPrefix(s.device, "loop:") {
		return fmt.Errorf("%s %s: want a port to another process or host", name, s.device)
	}
	return nil
}

func (s *settings) parseControl(name, text string) error {
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
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "cc: "))
	}
	s.control = func() cc.Algorithm {
		a, _ := spec.New(path) // cannot fail: checked above
		return a
	}
	return nil
}

func (s *settings) parseAddress(name, text string) (err error) {
	if text == "" {
		return nil
	}
	if s.address, err = netip.ParseAddr(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
