package dpdk

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goroce/goroce/packet/bottleneck"
	"github.com/goroce/goroce/units"
)

// Limits of the kernel.
const (
	maxInterfaceName = 15
	maxSocketPath    = 107
)

// known are the k=v of each scheme that a URL may contain, besides mac=. Some drivers ignore all
// their arguments if one of them is unknown.
var known = map[Scheme]string{
	Loop:     "depth rate ecn",
	Memif:    "id bsize rsize socket-abstract secret zero-copy owner-uid owner-gid",
	AFPacket: "qpairs blocksz framesz framecnt qdisc_bypass",
	AFXDP:    "start_queue queue_count shared_umem xdp_prog busy_budget force_copy use_cni",
	Tap:      "remote persist",
	Pcap:     "infinite_rx phy_mac rx_iface rx_iface_in tx_iface iface",
	Null:     "size copy no-rx",
}

// checkOptions returns an error for options that the driver does not have.
func (u *URL) checkOptions() error {
	keys, limited := known[u.Scheme]
	for _, kv := range u.Options {
		if limited && !slices.Contains(strings.Fields(keys), kv.Key) {
			return fmt.Errorf("no option %s; there are: mac %s", kv.Key, keys)
		}
	}
	return nil
}

func parseLoop(u *URL, s string) error {
	words, err := u.words(s, 1)
	if err != nil {
		return err
	}
	if len(words) == 1 {
		u.Name = words[0]
	}
	if _, err = u.bottleneck(); err != nil {
		return err
	}
	_, err = u.depth()
	return err
}

// bottleneck returns what rate= and ecn= of a loop describe.
func (u *URL) bottleneck() (c bottleneck.Config, err error) {
	if rate := u.option("rate"); rate != "" {
		if c.Rate, err = units.ParseBitRate(rate); err == nil && c.Rate < units.Mbps {
			err = errors.New("want at least 1Mb/s")
		}
		if err != nil {
			return c, fmt.Errorf("rate=%s: %w", rate, err)
		}
	}
	low, high, _ := strings.Cut(u.option("ecn"), ",")
	if low == "" {
		return c, nil
	}
	if c.Kmin, err = units.ParseBytes(low); err == nil {
		c.Kmax, err = units.ParseBytes(high)
	}
	if err != nil || c.Kmin < 0 || c.Kmax < c.Kmin || c.Kmax == 0 {
		return c, fmt.Errorf("ecn=%s,%s: want two lengths of the queue, KMIN,KMAX, such as "+
			"100KiB,400KiB", low, high)
	}
	return c, nil
}

func parseMemif(u *URL, s string) error {
	words, err := u.words(s, 2)
	if err != nil {
		return err
	}
	u.Name = words[0]
	switch {
	case u.Name == "":
		return errors.New("no socket path, want memif:/path/sock")
	case len(u.Name) > maxSocketPath:
		return fmt.Errorf("socket path longer than %d bytes", maxSocketPath)
	case len(words) == 1:
		return nil
	}
	u.Client = words[1] == "client"
	if !u.Client && words[1] != "server" {
		return fmt.Errorf("%q is not client, server or a k=v", words[1])
	}
	return nil
}

func parseInterface(u *URL, s string) error {
	words, err := u.words(s, 1)
	if err != nil {
		return err
	}
	u.Name = words[0]
	switch {
	case u.Name == "":
		return errors.New("no interface name")
	case len(u.Name) > maxInterfaceName:
		return fmt.Errorf("interface name longer than %d bytes", maxInterfaceName)
	case strings.ContainsAny(u.Name, "/:") || u.Name == "." || u.Name == "..":
		return fmt.Errorf("%q is not an interface name", u.Name)
	}
	return nil
}

func parsePcap(u *URL, s string) error {
	words, err := u.words(s, 2)
	if err != nil {
		return err
	}
	u.RxFile = words[0]
	if len(words) == 2 {
		u.TxFile = words[1]
	}
	if u.RxFile == "" && u.TxFile == "" {
		return errors.New("no file to read and none to write")
	}
	return nil
}

func parseNull(u *URL, s string) error {
	if s == "" {
		return nil
	}
	_, err := u.words(strings.TrimPrefix(s, ","), 0)
	return err
}

var pciAddress = regexp.MustCompile(`^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]$`)

func parsePCI(u *URL, s string) error {
	words, err := u.words(s, 1)
	if err != nil {
		return err
	}
	if !pciAddress.MatchString(words[0]) {
		return fmt.Errorf("%q is not a PCI address such as 0000:3b:00.0", words[0])
	}
	u.Name = strings.ToLower(words[0])
	if strings.Count(u.Name, ":") == 1 {
		u.Name = "0000:" + u.Name
	}
	return nil
}

var vdevName = regexp.MustCompile(`^[a-z][a-z0-9_]*[0-9]`)

func parseEAL(u *URL, s string) error {
	name, _, _ := strings.Cut(s, ",")
	if len(name) > 60 || !vdevName.MatchString(name) {
		return fmt.Errorf("%q is not a device name such as net_null0", name)
	}
	u.Name = s
	return nil
}
