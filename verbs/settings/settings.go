package settings

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
)

// Settings are the settings of one process. A text is empty if it is not set.
type Settings struct {
	Port    string // URL
	Daemon  string // socket of a daemon, in place of a port
	IP      string // addresses with prefix lengths, separated by commas
	Gateway string // next hops, likewise
	Pcap    string // file
	Faults  string
	CC      string
	Idle    string
	EAL     string
	Verbose string
	Watch   string
}

// variable is one setting's place in the environment.
type variable struct {
	name  string
	field *string
}

func (s *Settings) variables() []variable {
	return []variable{{"GOROCE_PORT", &s.Port}, {"GOROCE_DAEMON", &s.Daemon},
		{"GOROCE_IP", &s.IP}, {"GOROCE_GATEWAY", &s.Gateway}, {"GOROCE_PCAP", &s.Pcap},
		{"GOROCE_FAULTS", &s.Faults}, {"GOROCE_CC", &s.CC}, {"GOROCE_IDLE", &s.Idle},
		{"GOROCE_EAL", &s.EAL}, {"GOROCE_VERBOSE", &s.Verbose},
		{"GOROCE_WATCH", &s.Watch}}
}

// FromEnvironment reads the settings with a function such as os.Getenv.
func FromEnvironment(getenv func(string) string) *Settings {
	s := &Settings{}
	for _, v := range s.variables() {
		*v.field = getenv(v.name)
	}
	return s
}

// Environment returns the variables that are set, as NAME=VALUE.
func (s *Settings) Environment() (list []string) {
	for _, v := range s.variables() {
		if *v.field != "" {
			list = append(list, v.name+"="+*v.field)
		}
	}
	return list
}

// SystemSocket is where the daemon of the machine listens.
const SystemSocket = "/run/goroce/roced.sock"

// UserSocket returns where a user's own daemon listens, unless told otherwise.
func UserSocket() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "goroce.sock")
	}
	return fmt.Sprintf("/tmp/goroce-%d.sock", os.Geteuid())
}

// DefaultSocket returns the socket of the daemon that a program uses, unless told otherwise: the
// user's own, or the machine's if there is one and the user has none.
func DefaultSocket() string {
	own := UserSocket()
	if _, err := os.Stat(own); err != nil {
		if _, err := os.Stat(SystemSocket); err == nil {
			return SystemSocket
		}
	}
	return own
}

// Check reports what is wrong with the settings, except for the port's URL.
func (s *Settings) Check() error {
	if (s.Port == "") == (s.Daemon == "") {
		return errors.New("want a port (GOROCE_PORT) or a daemon (GOROCE_DAEMON)")
	}
	_, err1 := s.Addrs()
	_, err2 := s.Gateways()
	_, err3 := ParseFaults(s.Faults)
	_, err4 := s.Algorithm()
	return errors.Join(err1, err2, err3, err4)
}

// ForPort reports whether there are settings of the process that opens the port.
func (s *Settings) ForPort() bool {
	return s.IP+s.Gateway+s.Pcap+s.Faults+s.CC+s.Idle+s.EAL+s.Watch != ""
}

// Addrs returns the addresses of the process. Without any it is one of 198.18.0.0/15, the network
// for benchmarks (RFC 2544), which the port's URL decides: the ends of a memif have 198.18.0.1 and
// 198.18.0.2.
func (s *Settings) Addrs() ([]netip.Prefix, error) {
	if s.IP == "" {
		return []netip.Prefix{netip.PrefixFrom(defaultAddr(s.Port), 15)}, nil
	}
	var all []netip.Prefix
	for text := range strings.SplitSeq(s.IP, ",") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("address %q, want one with its prefix length, such as "+
				"10.0.0.1/24", text)
		}
		all = append(all, p)
	}
	return all, nil
}

func defaultAddr(url string) netip.Addr {
	if strings.HasPrefix(url, "memif:") {
		for option := range strings.SplitSeq(url, ",") {
			if option == "client" {
				return netip.AddrFrom4([4]byte{198, 18, 0, 2})
			}
		}
		return netip.AddrFrom4([4]byte{198, 18, 0, 1})
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(url))
	sum := h.Sum(nil)
	return netip.AddrFrom4([4]byte{198, 19, sum[2], sum[3]&^3 | 1}) // not the broadcast address
}

// Gateways returns the next hops.
func (s *Settings) Gateways() ([]netip.Addr, error) {
	var all []netip.Addr
	if s.Gateway == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(s.Gateway, ",") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("gateway %q: %w", text, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// Algorithm returns the congestion control, nil for the default.
func (s *Settings) Algorithm() (cc.Factory, error) {
	if s.CC == "" {
		return nil, nil
	}
	spec, err := cc.Parse(s.CC)
	if err != nil {
		return nil, fmt.Errorf("congestion control %q: %w", s.CC, err)
	}
	return spec, nil
}

// WrapPort returns the decorator of ports that injects the faults, nil without any.
func (s *Settings) WrapPort() (func(packet.Port) (packet.Port, error), error) {
	o, err := ParseFaults(s.Faults)
	if err != nil || s.Faults == "" {
		return nil, err
	}
	return func(p packet.Port) (packet.Port, error) { return packet.NewFaults(p, o) }, nil
}
