package neigh

import (
	"encoding/binary"
	"net/netip"

	"github.com/goroce/goroce/units"
)

const (
	discoveryLen = 24 // of a solicitation or advertisement without options
	linkOption   = 8  // of the Ethernet link-layer address option, RFC 2464 section 6
	maxHops      = 255

	optionSource = 1 // source link-layer address, RFC 4861 section 4.6.1
	optionTarget = 2 // target link-layer address

	flagSolicited = 1 << 30 // RFC 4861 section 4.4
	flagOverride  = 1 << 29
)

// discovery is a neighbour solicitation or advertisement (RFC 4861 sections 4.3 and 4.4).
type discovery []byte

func (m discovery) kind() uint8        { return m[0] }
func (m discovery) flags() uint32      { return binary.BigEndian.Uint32(m[4:]) }
func (m discovery) target() netip.Addr { return netip.AddrFrom16([16]byte(m[8:24])) }

// linkAddress returns the link-layer address in the options, if present. valid reports whether the
// options are well-formed (RFC 4861 section 4.6: no length is 0) and the address is unicast.
func (m discovery) linkAddress(option uint8) (mac [6]byte, has, valid bool) {
	for rest := m[discoveryLen:]; len(rest) > 0; {
		if len(rest) < 2 || rest[1] == 0 || int(rest[1])*8 > len(rest) {
			return mac, false, false
		}
		if rest[0] == option && rest[1] == 1 {
			mac, has = [6]byte(rest[2:]), true
		}
		rest = rest[int(rest[1])*8:]
	}
	return mac, has, !has || isUnicastMAC(mac)
}

// receiveDiscovery checks the rules that RFC 4861 sections 7.1.1 and 7.1.2 share. The caller has
// checked the checksum and the code.
func (t *Table) receiveDiscovery(h ipv6, m discovery, now units.Time) {
	option := uint8(optionSource)
	if m.kind() == icmp6Advertisement {
		option = optionTarget
	}
	if h.hopLimit() != maxHops {
		t.counters.DropNDHopLimit++
		return
	}
	if len(m) < discoveryLen || !isUnicast(m.target()) || h.source().IsMulticast() {
		t.counters.DropNDMalformed++
		return
	}
	mac, has, valid := m.linkAddress(option)
	switch {
	case !valid:
		t.counters.DropNDOption++
	case option == optionSource:
		t.receiveSolicitation(h, m, mac, has, now)
	default:
		t.receiveAdvertisement(h, m, mac, has, now)
	}
}

// receiveSolicitation replies to a solicitation for an address of ours (RFC 4861 sections 7.2.3 and
// 7.2.4).
func (t *Table) receiveSolicitation(h ipv6, m discovery, mac [6]byte, has bool, now units.Time) {
	src, dst, target := h.source(), h.dest(), m.target()
	probe := src.IsUnspecified() // duplicate address detection, RFC 4862 section 5.4.3
	if probe && (has || dst != solicitedNode(target)) {
		t.counters.DropNDMalformed++
		return
	}
	t.counters.SolicitationsIn++
	switch {
	case !t.Owns(target) || dst != target && dst != solicitedNode(target):
		t.counters.Ignored++
	case has && mac == t.mac:
		t.counters.Ignored++ // our own packet, looped back
	case probe:
		t.sendAdvertisement(groupMAC(allNodes), target, allNodes, 0)
	case t.Owns(src):
		t.counters.AddressConflicts++
	default:
		if has {
			t.learn(src, mac, now)
		}
		t.replyTo(src, target, mac, has)
	}
}

// replyTo advertises target to src. A unicast solicitation may omit the sender's link-layer
// address, which we have then (RFC 4861 section 4.3).
func (t *Table) replyTo(src, target netip.Addr, mac [6]byte, has bool) {
	if !has {
		e, known := t.entries[src]
		if !known || e.state == incomplete {
			t.counters.Ignored++
			return
		}
		mac = e.mac
	}
	t.sendAdvertisement(mac, target, src, flagSolicited)
}

// receiveAdvertisement follows RFC 4861 section 7.2.5.
func (t *Table) receiveAdvertisement(h ipv6, m discovery, mac [6]byte, has bool, now units.Time) {
	solicited, override := m.flags()&flagSolicited != 0, m.flags()&flagOverride != 0
	if solicited && h.dest().IsMulticast() {
		t.counters.DropNDMalformed++
		return
	}
	t.counters.AdvertisementsIn++
	e, known := t.entries[m.target()]
	switch {
	case has && mac == t.mac:
		t.counters.Ignored++ // our own packet, looped back
		return
	case !known || solicited && !t.Owns(h.dest()):
		t.counters.Ignored++
		return
	case e.state == local:
		t.counters.AddressConflicts++
		return
	case e.state == incomplete && !has:
		t.counters.Ignored++
		return
	}
	if !has {
		mac = e.mac
	}
	switch {
	case e.state != incomplete && mac != e.mac && !override:
		if e.state == reachable {
			t.probe(e, now) // contradictory: confirm the known address
		}
	case solicited:
		t.confirm(e, mac, now)
	default:
		t.observe(e, mac, now)
	}
}

func (t *Table) sendSolicitation(e *Entry, src netip.Addr, unicast bool) {
	dst, mac := e.ip, e.mac
	if !unicast {
		dst = solicitedNode(e.ip)
		mac = groupMAC(dst)
	}
	if t.sendDiscovery(icmp6Solicitation, mac, src, dst, 0, e.ip, optionSource) {
		t.counters.SolicitationsOut++
	}
}

func (t *Table) sendAdvertisement(mac [6]byte, target, dst netip.Addr, flags uint32) {
	flags |= flagOverride // only we advertise our addresses
	if t.sendDiscovery(icmp6Advertisement, mac, target, dst, flags, target, optionTarget) {
		t.counters.AdvertisementsOut++
	}
}

// sendDiscovery queues a message about target with our link-layer address as its option.
func (t *Table) sendDiscovery(
	kind uint8, mac [6]byte, src, dst netip.Addr, flags uint32, target netip.Addr, option uint8,
) bool {
	m := t.build6(mac, src, dst, discoveryLen+linkOption, maxHops, QueueDepth)
	if m == nil {
		return false
	}
	a := target.As16()
	binary.BigEndian.PutUint32(m, uint32(kind)<<24)
	binary.BigEndian.PutUint32(m[4:], flags)
	copy(m[8:], a[:])
	m[discoveryLen], m[discoveryLen+1] = option, 1
	copy(m[discoveryLen+2:], t.mac[:])
	t.finish6(m, src, dst)
	return true
}
