package neigh

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/goroce/goroce/units"
)

// The errors, wrapped with what was asked.
var (
	// ErrConfig says that a Config makes no sense.
	ErrConfig = errors.New("invalid configuration")
	// ErrNoRoute says that an address is on none of our prefixes and no gateway leads there.
	ErrNoRoute = errors.New("no route")
	// ErrAddress says that an address is no unicast address.
	ErrAddress = errors.New("not a unicast address")
	// ErrFull says that MaxEntries neighbours are held.
	ErrFull = errors.New("neighbour table full")
)

// Config says who we are.
type Config struct {
	// MAC is our unicast Ethernet address.
	MAC [6]byte
	// Addrs are our addresses with the length of their prefixes; at least one.
	Addrs []netip.Prefix
	// Gateways lead to everything else: at most one for IPv4 and one for IPv6, each on a prefix.
	Gateways []netip.Addr
	// VLAN tags every frame when it is not 0, and must then tag what arrives.
	VLAN uint16
}

// Table is what an endpoint knows of its neighbours, and they may know of it.
type Table struct {
	mac      [6]byte
	vlan     uint16
	addrs    []netip.Prefix
	gateways []netip.Addr

	entries     map[netip.Addr]*Entry // also our own addresses
	confirmed   idle
	unconfirmed idle
	doubts      int                  // entries in unconfirmed
	doubtsOf    map[netip.Prefix]int // those of each source
	timers      timerHeap
	queue       queue
	counters    Counters
}

// New makes a Table. It solicits nobody until asked.
func New(c Config) (*Table, error) {
	t := &Table{
		mac: c.MAC, vlan: c.VLAN,
		addrs: slices.Clone(c.Addrs), gateways: slices.Clone(c.Gateways),
		entries: make(map[netip.Addr]*Entry), doubtsOf: make(map[netip.Prefix]int),
	}
	if err := t.validate(); err != nil {
		return nil, err
	}
	for _, p := range t.addrs {
		t.entries[p.Addr()] = &Entry{ip: p.Addr(), mac: c.MAC, state: own, wanted: true,
			generation: 1}
	}
	t.queue.init()
	return t, nil
}

func (t *Table) validate() error {
	if !isUnicastMAC(t.mac) {
		return fmt.Errorf("neigh: MAC address %x is zero or a group's: %w", t.mac, ErrConfig)
	}
	if t.vlan > 4094 {
		return fmt.Errorf("neigh: VLAN %d is not 0 to 4094: %w", t.vlan, ErrConfig)
	}
	if len(t.addrs) == 0 {
		return fmt.Errorf("neigh: no address: %w", ErrConfig)
	}
	for i, p := range t.addrs {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("neigh: address %v is not an IPv4 or IPv6 prefix: %w", p, ErrConfig)
		}
		p = netip.PrefixFrom(p.Addr().WithZone(""), p.Bits())
		if !isUnicast(p.Addr()) || isBroadcastOf(p, p.Addr()) {
			return fmt.Errorf("neigh: address %v: %w: %w", p, ErrAddress, ErrConfig)
		}
		if slices.ContainsFunc(t.addrs[:i], func(q netip.Prefix) bool {
			return q.Addr() == p.Addr()
		}) {
			return fmt.Errorf("neigh: address %v is there twice: %w", p.Addr(), ErrConfig)
		}
		t.addrs[i] = p
	}
	return t.validateGateways()
}

func (t *Table) validateGateways() error {
	var has4, has6 bool
	for i, g := range t.gateways {
		g = normal(g)
		has := &has6
		if g.Is4() {
			has = &has4
		}
		switch {
		case slices.ContainsFunc(t.addrs, func(p netip.Prefix) bool { return p.Addr() == g }):
			return fmt.Errorf("neigh: gateway %v is our own address: %w", g, ErrConfig)
		case !isUnicast(g) || t.onLink(g) < 0:
			return fmt.Errorf("neigh: gateway %v is on none of %v: %w", g, t.addrs, ErrConfig)
		case *has:
			return fmt.Errorf("neigh: gateway %v is the second of its family: %w", g, ErrConfig)
		}
		*has, t.gateways[i] = true, g
	}
	return nil
}

// Len returns how many addresses it knows or asks for, the own ones included.
func (t *Table) Len() int { return len(t.entries) }

// Counters answers what happened so far.
func (t *Table) Counters() Counters { return t.counters }

// Pending says whether a frame waits for Emit.
func (t *Table) Pending() bool { return t.queue.count > 0 }

// Emit writes the next frame to send into room, complete from the destination address on and
// padded to the shortest an Ethernet allows, and answers its length; 0 when there is none. A frame
// that does not fit is dropped and counted.
func (t *Table) Emit(room []byte) int {
	for t.queue.count > 0 {
		frame := t.queue.pop()
		if len(frame) <= len(room) {
			return copy(room, frame)
		}
		t.counters.DropNoRoom++
	}
	return 0
}

// Poll sends the solicitations that are due, and answers when the next one is.
func (t *Table) Poll(now units.Time) units.Time {
	for len(t.timers) > 0 {
		e := t.timers[0]
		if e.deadline.After(now) {
			return e.deadline
		}
		t.expire(e, now)
	}
	return now.Add(units.Forever)
}
