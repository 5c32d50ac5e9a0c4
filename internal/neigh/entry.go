package neigh

import (
	"net/netip"

	"github.com/goroce/goroce/units"
)

// Entry is one neighbour. Until it is evicted the table keeps it up to date; what is held is not
// evicted.
type Entry struct {
	ip         netip.Addr
	mac        [6]byte
	state      state
	wanted     bool // Resolve or Hold answered it once, or it is our own
	asked      bool // someone asked since the last solicitation
	confirmed  bool // it has answered a question of ours
	evicted    bool
	generation uint32
	holders    int

	list          *idle // nil: held, or our own
	before, after *Entry

	deadline units.Time
	index    int // in the heap of timers, plus 1; 0 when not in it
	interval units.Duration
	until    units.Time // an unresolved entry is solicited until then
	probes   int
}

// state is where an entry stands, after RFC 4861 section 7.3.2.
type state uint8

const (
	incomplete state = iota // MAC unknown
	reachable               // confirmed within reachableTime
	stale                   // MAC known by hearsay, nobody wants it yet
	probing                 // MAC known, confirmation asked for
	own                     // an address of ours
)

// IP is the neighbour's address.
func (e *Entry) IP() netip.Addr { return e.ip }

// MAC is the neighbour's Ethernet address, once it is known. To ask for one that is not keeps the
// solicitations going.
func (e *Entry) MAC() (mac [6]byte, ok bool) {
	e.asked = true
	return e.mac, e.state != incomplete
}

// Generation changes when the MAC address becomes known or becomes another; 0 means unknown, and
// to ask then is the same as to ask for the MAC.
func (e *Entry) Generation() uint32 {
	if e.generation == 0 {
		e.asked = true
	}
	return e.generation
}

// Evicted reports whether the table has forgotten the entry: its MAC address is the last that was
// known.
func (e *Entry) Evicted() bool { return e.evicted }

// insert adds an entry that is not in use yet. It is in no list until it is used or held.
func (t *Table) insert(ip netip.Addr) (*Entry, error) {
	if err := t.room(); err != nil {
		return nil, err
	}
	e := &Entry{ip: ip}
	t.entries[ip] = e
	return e, nil
}

// want begins, or goes on with, finding out where e is.
func (t *Table) want(e *Entry, now units.Time) {
	e.asked = true
	switch {
	case e.state == own:
		return
	case !e.wanted:
		e.wanted = true
		if e.state == stale {
			t.probe(e, now)
			return
		}
	case e.state != incomplete || now.Before(e.until):
		return // known, or solicited anyway
	}
	e.until = now.Add(lingering)
	e.interval = firstRetransmit
	t.solicit(e, false)
	t.timers.set(e, now.Add(firstRetransmit))
}

// probe asks a neighbour that is known to confirm itself.
func (t *Table) probe(e *Entry, now units.Time) {
	e.state, e.probes, e.interval = probing, 1, probeInterval
	t.solicit(e, true)
	t.timers.set(e, now.Add(probeInterval))
}

// expire does what an entry's deadline was for.
func (t *Table) expire(e *Entry, now units.Time) {
	switch {
	case e.state == incomplete:
		if e.asked {
			e.asked, e.until = false, now.Add(lingering)
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

// confirm takes an answer to our question: e is at mac, now.
func (t *Table) confirm(e *Entry, mac [6]byte, now units.Time) {
	t.setMAC(e, mac)
	if e.wanted {
		e.state, e.confirmed = reachable, true
		t.timers.set(e, now.Add(reachableTime))
	}
	t.used(e)
}

// hear takes what the neighbour says of itself unasked: it is believed, and checked when it is
// news.
func (t *Table) hear(e *Entry, mac [6]byte, now units.Time) {
	if !t.setMAC(e, mac) {
		return
	}
	if e.state = stale; e.wanted {
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
		e.generation = 1 // 0 says unknown
	}
	return true
}

// learn takes what a sender says of itself in a request addressed to us: it is about to speak
// with us, and we with it.
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
	t.hear(e, mac, now)
	t.used(e)
}

// solicit asks where e is: everybody, or only where we know it to be.
func (t *Table) solicit(e *Entry, unicast bool) {
	src := t.addrs[t.onLink(e.ip)].Addr()
	if e.ip.Is4() {
		t.sendARPRequest(e, src, unicast)
	} else {
		t.sendSolicitation(e, src, unicast)
	}
}
