package neigh

import (
	"net/netip"

	"github.com/goroce/goroce/units"
)

// Entry is one neighbour. The table updates it until it is evicted; held entries are not evicted.
type Entry struct {
	ip         netip.Addr
	mac        [6]byte
	state      state
	requested  bool // returned by Resolve or Hold, or an address of ours
	queried    bool // queried since the last solicitation
	confirmed  bool // has answered a solicitation of ours
	evicted    bool
	generation uint32
	holders    int

	list       *lruList // nil if held, or an address of ours
	prev, next *Entry

	index    int // position in the heap of timers, plus 1; 0 if not in it
	interval units.Duration
	until    units.Time // end of the solicitations of an unresolved entry
	probes   int
}

// state is the reachability state of an entry, after RFC 4861 section 7.3.2.
type state uint8

const (
	incomplete state = iota // MAC unknown
	reachable               // confirmed within reachableTime
	stale                   // MAC known but unconfirmed, not requested yet
	probing                 // MAC known, being confirmed
	local                   // an address of ours
)

// IP returns the neighbour's address.
func (e *Entry) IP() netip.Addr { return e.ip }

// MAC returns the neighbour's Ethernet address, and false while it is unknown. A call keeps the
// solicitations going.
func (e *Entry) MAC() (mac [6]byte, ok bool) {
	e.queried = true
	return e.mac, e.state != incomplete
}

// Generation returns a number that changes with the MAC address. 0 means that the address is
// unknown; a call then keeps the solicitations going, like MAC.
func (e *Entry) Generation() uint32 {
	if e.generation == 0 {
		e.queried = true
	}
	return e.generation
}

// Evicted reports whether the table has removed the entry, whose MAC address is no longer updated.
func (e *Entry) Evicted() bool { return e.evicted }

// insert adds an entry. It is in no list until it is used or held.
func (t *Table) insert(ip netip.Addr) (*Entry, error) {
	if err := t.makeRoom(); err != nil {
		return nil, err
	}
	e := &Entry{ip: ip}
	t.entries[ip] = e
	return e, nil
}

// request starts or continues the resolution of e.
func (t *Table) request(e *Entry, now units.Time) {
	e.queried = true
	switch {
	case e.state == local:
		return
	case !e.requested:
		e.requested = true
		if e.state == stale {
			t.probe(e, now)
			return
		}
	case e.state != incomplete || now.Before(e.until):
		return // known, or being solicited
	}
	e.until = now.Add(solicitPeriod)
	e.interval = firstRetransmit
	t.solicit(e, false)
	t.timers.set(e, now.Add(firstRetransmit))
}

// probe starts the confirmation of a known neighbour.
func (t *Table) probe(e *Entry, now units.Time) {
	e.state, e.probes, e.interval = probing, 1, probeInterval
	t.solicit(e, true)
	t.timers.set(e, now.Add(probeInterval))
}

// expire handles the deadline of an entry.
func (t *Table) expire(e *Entry, now units.Time) {
	switch {
	case e.state == incomplete:
		if e.queried {
			e.queried, e.until = false, now.Add(solicitPeriod)
		}
		if now.Before(e.until) {
			t.solicit(e, false)
		}
		e.interval = min(2*e.interval, maxRetransmit)
	case e.state == reachable:
		t.probe(e, now)
		return
	case e.probes < unicastProbes:
		e.probes++
		t.solicit(e, true)
	default:
		if e.probes == unicastProbes {
			e.probes++
			t.counters.Unconfirmed++
		}
		t.solicit(e, false)
		e.interval = min(2*e.interval, reachableTime)
	}
	t.timers.set(e, now.Add(e.interval))
}

// confirm handles a reply to a solicitation of ours: e has address mac.
func (t *Table) confirm(e *Entry, mac [6]byte, now units.Time) {
	t.setMAC(e, mac)
	if e.requested {
		e.state, e.confirmed = reachable, true
		t.timers.set(e, now.Add(reachableTime))
	}
	t.touch(e)
}

// observe handles an unsolicited announcement. A new MAC address is used, and probed if the entry
// is requested.
func (t *Table) observe(e *Entry, mac [6]byte, now units.Time) {
	if !t.setMAC(e, mac) {
		return
	}
	if e.state = stale; e.requested {
		t.probe(e, now)
	}
}

func (t *Table) setMAC(e *Entry, mac [6]byte) (changed bool) {
	switch {
	case e.state == incomplete:
		t.counters.Resolved++
		e.state = stale
	case e.mac == mac:
		return false
	default:
		t.counters.MACChanges++
	}
	e.mac = mac
	if e.generation++; e.generation == 0 {
		e.generation = 1 // 0 means unknown
	}
	return true
}

// learn adds the sender of a request addressed to us, because traffic in both directions is likely
// to follow.
func (t *Table) learn(ip netip.Addr, mac [6]byte, now units.Time) {
	e, ok := t.entries[ip]
	if !ok {
		i := t.onLink(ip)
		if i < 0 || !isUnicast(ip) || isBroadcastOf(t.addrs[i], ip) {
			t.counters.Ignored++
			return
		}
		var err error
		if e, err = t.insert(ip); err != nil {
			t.counters.DropLearnFull++
			return
		}
	}
	t.observe(e, mac, now)
	t.touch(e)
}

// solicit sends a solicitation for e, by unicast to its known MAC address or to all hosts.
func (t *Table) solicit(e *Entry, unicast bool) {
	src := t.addrs[t.onLink(e.ip)].Addr()
	if e.ip.Is4() {
		t.sendARPRequest(e, src, unicast)
	} else {
		t.sendSolicitation(e, src, unicast)
	}
}
