package cli

import (
	"fmt"
	"net/netip"
)

// ParsePrefixes parses the values of the repeatable flag called name: addresses with their prefix
// lengths.
func ParsePrefixes(name string, texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf(
				"%s %s: want an address with its prefix length, such as 10.0.0.1/24: "+
					"%w", name, text,
				err)
		}
		all = append(all, p)
	}
	return all, nil
}

// ParseAddrs parses the values of the repeatable flag called name: addresses.
func ParseAddrs(name string, texts []string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", name, text, err)
		}
		all = append(all, a)
	}
	return all, nil
}
