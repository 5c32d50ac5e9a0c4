package dpdk

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// ErrURL is wrapped by every error of ParseURL.
var ErrURL = errors.New("dpdk: bad port URL")

// Scheme is the part of a URL before the first colon: the kind of port.
type Scheme string

// The schemes.
const (
	Loop     Scheme = "loop"      // one of two ends in this process
	Memif    Scheme = "memif"     // shared memory between two processes
	AFPacket Scheme = "af_packet" // a network interface of the kernel, by AF_PACKET
	AFXDP    Scheme = "af_xdp"    // a network interface of the kernel, by AF_XDP
	Tap      Scheme = "tap"       // a new network interface with the kernel at its other end
	Pcap     Scheme = "pcap"      // from one capture file, to another
	Null     Scheme = "null"      // receives dummy frames, discards what is sent
	PCI      Scheme = "pci"       // a real NIC
	EAL      Scheme = "eal"       // any argument of EAL's --vdev
)

const schemeHelp = "loop:[NAME][,rate=R][,ecn=KMIN,KMAX] memif:/path/sock[,client] " +
	"af_packet:eth0 af_xdp:eth0 tap:NAME pcap:rx.pcap,tx.pcap null: pci:0000:3b:00.0 " +
	"eal:DRIVER0,k=v"

// URL names a port. All schemes but eal: take mac=02:… and further k=v options for the driver.
type URL struct {
	Scheme  Scheme
	Name    string // of the loop, interface or device; path of the socket; raw text for eal:
	Client  bool   // memif: this side connects, the other listens
	RxFile  string // pcap
	TxFile  string // pcap
	MAC     net.HardwareAddr
	Options []KV // for the driver
}

// KV is one k=v of a URL.
type KV struct{ Key, Value string }

// ParseURL parses the name of a port:
//
//	loop: loop:NAME                 first Open of a name gets one end, second the other;
//	                                ,rate=10Gb/s,ecn=100KiB,400KiB makes it a bottleneck
//	memif:/path/sock                listens on the socket; ,client connects to it
//	af_packet:eth0 af_xdp:eth0      an interface that exists
//	tap:NAME                        an interface that Open creates
//	pcap:rx.pcap,tx.pcap            either may be empty
//	null:                           no wire at all
//	pci:0000:3b:00.0                a device bound for DPDK
//	eal:net_ring0,nodeaction=...    an argument of EAL's --vdev, verbatim
func ParseURL(s string) (URL, error) {
	scheme, rest, found := strings.Cut(s, ":")
	parse := parsers[Scheme(scheme)]
	if !found || parse == nil {
		return URL{}, fmt.Errorf("%w %q: want one of %s", ErrURL, s, schemeHelp)
	}
	if i := strings.IndexFunc(rest, unprintable); i >= 0 {
		return URL{}, fmt.Errorf("%w %q: blank or control character at %d", ErrURL, s, i)
	}
	u := URL{Scheme: Scheme(scheme)}
	err := parse(&u, rest)
	if err == nil {
		err = u.checkOptions()
	}
	if err != nil {
		return URL{}, fmt.Errorf("%w %q: %w", ErrURL, s, err)
	}
	return u, nil
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }

var parsers = map[Scheme]func(*URL, string) error{
	Loop:     parseLoop,
	Memif:    parseMemif,
	AFPacket: parseInterface,
	AFXDP:    parseInterface,
	Tap:      parseInterface,
	Pcap:     parsePcap,
	Null:     parseNull,
	PCI:      parsePCI,
	EAL:      parseEAL,
}

// words splits at commas, moves the k=v to the options and returns at most limit others.
func (u *URL) words(s string, limit int) ([]string, error) {
	var words []string
	all, skip := strings.Split(s, ","), false
	for i, w := range all {
		if skip {
			skip = false
			continue
		}
		key, value, isKV := strings.Cut(w, "=")
		switch {
		case i == 0 && limit > 0 && u.Scheme != Loop, !isKV && len(words) < limit:
			words = append(words, w) // a path may contain =
		case !isKV:
			return nil, fmt.Errorf("%q is not a k=v", w)
		case key == "" || value == "":
			return nil, fmt.Errorf("%q has an empty side", w)
		case key == "mac":
			mac, err := parseMAC(value)
			if err != nil {
				return nil, err
			}
			u.MAC = mac
		default:
			if u.Scheme == Loop && key == "ecn" && i+1 < len(all) &&
				!strings.Contains(all[i+1], "=") {
				value, skip = value+","+all[i+1], true // KMIN,KMAX
			}
			if u.option(key) != "" {
				return nil, fmt.Errorf("%s is given twice", key)
			}
			u.Options = append(u.Options, KV{key, value})
		}
	}
	return words, nil
}

// option returns the value of a k=v, or "" if there is none.
func (u *URL) option(key string) string {
	for _, kv := range u.Options {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

func parseMAC(s string) (net.HardwareAddr, error) {
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != 6 || mac[0]&1 != 0 || isZero(mac) {
		return nil, fmt.Errorf("mac=%s is not a unicast Ethernet address", s)
	}
	return mac, nil
}

// String returns a URL that ParseURL parses to u.
func (u URL) String() string {
	words := []string{u.Name}
	switch {
	case u.Scheme == Pcap:
		words = []string{u.RxFile, u.TxFile}
	case u.Client:
		words = append(words, "client")
	case u.Scheme == Null:
		words = nil
	}
	if u.MAC != nil {
		words = append(words, "mac="+u.MAC.String())
	}
	for _, kv := range u.Options {
		words = append(words, kv.Key+"="+kv.Value)
	}
	return string(u.Scheme) + ":" + strings.Join(words, ",")
}
