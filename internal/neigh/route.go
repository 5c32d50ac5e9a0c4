package neigh

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/goroce/goroce/units"
)

// Owns reports whether ip is an address of ours.
func (t *Table) Owns(ip netip.Addr) bool {
	e, ok := t.entries[normalize(ip)]
	return ok && e.state == local
}

// Resolve returns the entry of the next hop towards dst, the same one each time until it is
// evicted, and starts its resolution. The entry of an address of ours has our MAC address. To keep
// the entry, use Hold.
func (t *Table) Resolve(dst netip.Addr, now units.Time) (*Entry, error) {
	e, err := t.resolve(dst, now)
	if err == nil {
		t.touch(e)
	}
	return e, err
}

// Known returns the MAC address of the next hop towards dst, if it is known. It sends nothing and
// adds no entry.
func (t *Table) Known(dst netip.Addr) (mac [6]byte, ok bool) {
	dst = normalize(dst)
	e := t.entries[dst]
	if e == nil {
		hop, err := t.nextHop(dst)
		if err != nil {
			return mac, false
		}
		e = t.entries[hop]
	}
	if e == nil || e.state == incomplete {
		return mac, false
	}
	return e.mac, true
}

func (t *Table) resolve(dst netip.Addr, now units.Time) (*Entry, error) {
	dst = normalize(dst)
	hop := dst
	e, ok := t.entries[hop]
	if !ok {
		var err error
		if hop, err = t.nextHop(dst); err != nil {
			return nil, fmt.Errorf("neigh: resolve %v: %w", dst, err)
		}
		e = t.entries[hop]
	}
	if e == nil {
		var err error
		if e, err = t.insert(hop); err != nil {
			return nil, fmt.Errorf("neigh: resolve %v: %w", dst, err)
		}
	}
	t.request(e, now)
	return e, nil
}

// Source returns our source address towards dst: dst itself if it is ours, the address on dst's
// prefix, or the one on the gateway's prefix.
func (t *Table) Source(dst netip.Addr) (netip.Addr, error) {
	dst = normalize(dst)
	if t.Owns(dst) {
		return dst, nil
	}
	hop, err := t.nextHop(dst)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("neigh: source towards %v: %w", dst, err)
	}
	src := t.addrs[t.onLink(hop)].Addr()
	if hop == dst || !src.IsLinkLocalUnicast() {
		return src, nil
	}
	// The gateway has a link-local address, but a destination beyond the link needs a source of its
	// own scope (RFC 6724 section 5, rule 2).
	for _, p := range t.addrs {
		if p.Addr().Is4() == dst.Is4() && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("neigh: source towards %v: only link-local addresses in %v: %w",
		dst, t.addrs, ErrNoRoute)
}

// nextHop returns dst if it is on a prefix of ours, otherwise the gateway.
func (t *Table) nextHop(dst netip.Addr) (netip.Addr, error) {
	if !isUnicast(dst) {
		return netip.Addr{}, ErrAddress
	}
	if i := t.onLink(dst); i >= 0 {
		if isBroadcastOf(t.addrs[i], dst) {
			return netip.Addr{}, fmt.Errorf("broadcast address of %v: %w", t.addrs[i].Masked(),
				ErrAddress)
		}
		return dst, nil
	}
	i := slices.IndexFunc(t.gateways, func(g netip.Addr) bool { return g.Is4() == dst.Is4() })
	if i < 0 || dst.IsLinkLocalUnicast() {
		return netip.Addr{}, fmt.Errorf("not on %v, and no gateway: %w", t.addrs, ErrNoRoute)
	}
	return t.gateways[i], nil
}

// onLink returns the index of our address with the longest prefix that contains ip, or -1.
func (t *Table) onLink(ip netip.Addr) int {
	best := -1
	for i, p := range t.addrs {
		if p.Contains(ip) && (best < 0 || p.Bits() > t.addrs[best].Bits()) {
			best = i
		}
	}
	return best
}
