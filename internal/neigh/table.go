package neigh

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/goroce/goroce/units"
)

// Errors, which are returned wrapped.
var (
	// ErrConfig reports an invalid Config.
	ErrConfig = errors.New("invalid configuration")
	// ErrNoRoute reports an address without a prefix of ours and without a gateway.
	ErrNoRoute = errors.New("no route")
	// ErrAddress reports an address that is not unicast.
	ErrAddress = errors.New("not a unicast address")
	// ErrFull reports that MaxEntries neighbours are held.
	ErrFull = errors.New("neighbour table full")
)

// Config holds our addresses.
type Config struct {
	// MAC is our unicast Ethernet address.
	MAC [6]byte
	// Addrs are our addresses with their prefix lengths; at least one.
	Addrs []netip.Prefix
	// Gateways are the next hops to all other addresses: at most one for IPv4 and one for IPv6,
	// each on a prefix.
	Gateways []netip.Addr
	// VLAN, unless 0, is the VLAN of all sent and received frames.
	VLAN uint16
}

// Table is the neighbour table of an endpoint.
type Table struct {
	mac      [6]byte
	vlan     uint16
	addrs    []netip.Prefix
	gateways []netip.Addr

	entries        map[netip.Addr]*Entry // including our own addresses
	confirmed      lruList
	unconfirmed    lruList
	numUnconfirmed int                  // length of unconfirmed
	unconfirmedBy  map[netip.Prefix]int // entries in unconfirmed, by sourcePrefix
	timers         timerHeap
	queue          queue
	counters       Counters
}

// New returns a Table. It sends nothing until the first Resolve or Hold.
func New(c Config) (*Table, error) {
	t := &Table{
		mac: c.MAC, vlan: c.VLAN,
		addrs: slices.Clone(c.Addrs), gateways: slices.Clone(c.Gateways),
		entries: make(map[netip.Addr]*Entry), unconfirmedBy: make(map[netip.Prefix]int),
	}
	if err := t.validate(); err != nil {
		return nil, err
	}
	for _, p := range t.addrs {
		t.entries[p.Addr()] = &Entry{ip: p.Addr(), mac: c.MAC, state: local, requested: true,
			generation: 1}
	}
	t.queue.init()
	return t, nil
}

func (t *Table) validate() error {
	if !isUnicastMAC(t.mac) {
		return fmt.Errorf("neigh: MAC address %x: want a unicast address: %w", t.mac, ErrConfig)
	}
	if t.vlan > 4094 {
		return fmt.Errorf("neigh: VLAN %d: want 0 to 4094: %w", t.vlan, ErrConfig)
	}
	if len(t.addrs) == 0 {
		return fmt.Errorf("neigh: no address: want at least one: %w", ErrConfig)
	}
	for i, p := range t.addrs {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("neigh: address %v: want an IPv4 or IPv6 prefix: %w", p, ErrConfig)
		}
		p = netip.PrefixFrom(p.Addr().WithZone(""), p.Bits())
		if !isUnicast(p.Addr()) || isBroadcastOf(p, p.Addr()) {
			return fmt.Errorf("neigh: address %v: %w: %w", p, ErrAddress, ErrConfig)
		}
		if slices.ContainsFunc(t.addrs[:i], func(q netip.Prefix) bool {
			return q.Addr() == p.Addr()
		}) {
			return fmt.Errorf("neigh: duplicate address %v: %w", p.Addr(), ErrConfig)
		}
		t.addrs[i] = p
	}
	return t.validateGateways()
}

func (t *Table) validateGateways() error {
	var has4, has6 bool
	for i, g := range t.gateways {
		g = normalize(g)
		has := &has6
		if g.Is4() {
			has = &has4
		}
		switch {
		case slices.ContainsFunc(t.addrs, func(p netip.Prefix) bool { return p.Addr() == g }):
			return fmt.Errorf("neigh: gateway %v is an address of ours: %w", g, ErrConfig)
		case !isUnicast(g) || t.onLink(g) < 0:
			return fmt.Errorf("neigh: gateway %v: want an address on %v: %w", g, t.addrs, ErrConfig)
		case *has:
			return fmt.Errorf("neigh: gateway %v: want one gateway per address family: %w", g,
				ErrConfig)
		}
		*has, t.gateways[i] = true, g
	}
	return nil
}

// Len returns the number of entries, including our own addresses.
func (t *Table) Len() int { return len(t.entries) }

// Counters returns the counters.
func (t *Table) Counters() Counters { return t.counters }

// Pending reports whether a frame waits for Emit.
func (t *Table) Pending() bool { return t.queue.count > 0 }

// Emit writes the next frame to send into buf, from the destination address on and padded to
// Ethernet's minimum, and returns its length, or 0 if there is none. A frame that does not fit is
// dropped and counted.
func (t *Table) Emit(buf []byte) int {
	for t.queue.count > 0 {
		frame := t.queue.pop()
		if len(frame) <= len(buf) {
			return copy(buf, frame)
		}
		t.counters.DropNoRoom++
	}
	return 0
}

// Poll sends the solicitations that are due and returns the time of the next one.
func (t *Table) Poll(now units.Time) units.Time {
	for len(t.timers) > 0 {
		first := t.timers[0]
		if first.deadline.After(now) {
			return first.deadline
		}
		t.expire(first.entry, now)
	}
	return now.Add(units.Forever)
}
