package neigh

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/goroce/goroce/units"
)

// Owns says whether ip is an address of ours.
func (t *Table) Owns(ip netip.Addr) bool {
	e, ok := t.entries[normal(ip)]
	return ok && e.state == own
}

// Resolve returns the entry of the next hop towards dst, the same one each time until it is
// evicted, and begins to find out its MAC address. For an address of ours the entry has our own.
// Who keeps the entry asks by Hold.
func (t *Table) Resolve(dst netip.Addr, now units.Time) (*Entry, error) {
	e, err := t.resolve(dst, now)
	if err == nil {
		t.used(e)
	}
	return e, err
}

// Known returns the MAC address of the next hop towards dst, if the table has it. It asks nobody
// and adds nothing.
func (t *Table) Known(dst netip.Addr) (mac [6]byte, ok bool) {
	dst = normal(dst)
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
	dst = normal(dst)
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
	t.want(e, now)
	return e, nil
}

// Source answers the address of ours that speaks to dst: dst itself when it is ours, the one on
// dst's prefix, or the one that the gateway's replies find.
func (t *Table) Source(dst netip.Addr) (netip.Addr, error) {
	dst = normal(dst)
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
	// Through a gateway known by its link-local address: what is beyond the link wants a source
	// of its own scope (RFC 6724 section 5, rule 2).
	for _, p := range t.addrs {
		if p.Addr().Is4() == dst.Is4() && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("neigh: source towards %v: only link-local addresses in %v: %w",
		dst, t.addrs, ErrNoRoute)
}

// nextHop is dst when it is on a prefix of ours, and else the gateway.
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
		return netip.Addr{}, fmt.Errorf("on none of %v, no gateway: %w", t.addrs, ErrNoRoute)
	}
	return t.gateways[i], nil
}

// onLink answers which of our addresses shares the longest prefix with ip, or -1.
func (t *Table) onLink(ip netip.Addr) int {
	best := -1
	for i, p := range t.addrs {
		if p.Contains(ip) && (best < 0 || p.Bits() > t.addrs[best].Bits()) {
			best = i
		}
	}
	return best
}
