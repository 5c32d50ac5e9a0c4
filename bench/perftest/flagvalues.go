package perftest

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

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

// Set parses a message size.
func (n *size) Set(v string) error {
	b, err := units.ParseBytes(v)
	if err != nil {
		return err
	}
	if b > maxSize {
		return fmt.Errorf("want at most %d", maxSize)
	}
	*n = size(b)
	return nil
}
func (n *size) String() string { return strconv.Itoa(int(*n)) }

// Type returns the argument's name for --help.
func (n *size) Type() string { return "bytes" }

// Set parses a number of seconds.
func (d *seconds) Set(v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > maxSeconds {
		return fmt.Errorf("want seconds, 0 to %d", maxSeconds)
	}
	*d = seconds(f * float64(units.Second))
	return nil
}
func (d *seconds) String() string {
	if *d < 0 {
		return "0"
	}
	return strconv.FormatFloat(units.Duration(*d).Seconds(), 'g', -1, 64)
}

// Type returns the argument's name for --help.
func (d *seconds) Type() string { return "seconds" }

// Set parses a duration with its unit.
func (d *duration) Set(v string) error {
	parsed, err := units.ParseDuration(v)
	*d = duration(parsed)
	return err
}
func (d *duration) String() string { return units.Duration(*d).String() }

// Type returns the argument's name for --help.
func (d *duration) Type() string { return "duration" }

// Set parses the name of an atomic operation.
func (a *AtomicType) Set(v string) error {
	for _, t := range []AtomicType{FetchAndAdd, CmpAndSwap} {
		if strings.EqualFold(v, t.String()) {
			*a = t
			return nil
		}
	}
	return errors.New("want FETCH_AND_ADD or CMP_AND_SWAP")
}

// Type returns the argument's name for --help.
func (a *AtomicType) Type() string { return "operation" }

// bitRate is a flag such as 100Gb/s.
type bitRate units.BitRate

// Set parses a rate.
func (r *bitRate) Set(v string) error {
	rate, err := units.ParseBitRate(v)
	if err == nil && rate <= 0 {
		err = errors.New("want more than 0")
	}
	*r = bitRate(rate)
	return err
}
func (r *bitRate) String() string { return units.BitRate(*r).String() }

// Type returns the argument's name for --help.
func (r *bitRate) Type() string { return "rate" }

// prefixes is a repeatable flag of addresses with prefix lengths.
type prefixes []netip.Prefix

// Set adds a prefix.
func (p *prefixes) Set(v string) error {
	prefix, err := netip.ParsePrefix(v)
	if err != nil {
		return fmt.Errorf("want an address with its prefix length, such as 10.0.0.1/24: %w", err)
	}
	*p = append(*p, prefix)
	return nil
}
func (p *prefixes) String() string {
	if len(*p) == 0 {
		return ""
	}
	return fmt.Sprint(*p)
}

// Type returns the argument's name for --help.
func (p *prefixes) Type() string { return "ADDR/LEN" }

// addresses is a repeatable flag of addresses.
type addresses []netip.Addr

// Set adds an address.
func (a *addresses) Set(v string) error {
	addr, err := netip.ParseAddr(v)
	if err != nil {
		return err
	}
	*a = append(*a, addr)
	return nil
}
func (a *addresses) String() string {
	if len(*a) == 0 {
		return ""
	}
	return fmt.Sprint(*a)
}

// Type returns the argument's name for --help.
func (a *addresses) Type() string { return "ADDR" }
