package neigh

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherVLAN = 0x8100
	etherIPv6 = 0x86dd

	etherLen = 14
	tagLen   = 4 // IEEE 802.1Q 9.5
)

// Receive handles a frame that is ARP, neighbour discovery or an echo request for us, and reports
// whether it was one. Malformed ones are counted and dropped.
func (t *Table) Receive(frame []byte, now units.Time) bool {
	if len(frame) < etherLen {
		return false
	}
	etherType, payload := binary.BigEndian.Uint16(frame[12:]), frame[etherLen:]
	var vlan uint16
	if etherType == etherVLAN {
		if len(payload) < tagLen {
			return false
		}
		vlan = binary.BigEndian.Uint16(payload) & 0xfff // VLAN 0 is a priority tag, IEEE 802.1Q 9.6
		etherType, payload = binary.BigEndian.Uint16(payload[2:]), payload[tagLen:]
	}
	dst, src := [6]byte(frame), [6]byte(frame[6:])
	toUs := dst == t.mac
	switch {
	case vlan != t.vlan || !isUnicastMAC(src):
		return false
	case etherType == etherARP && (toUs || dst == broadcastMAC):
		t.receiveARP(payload, toUs, now)
		return true
	case etherType == etherIPv4 && toUs:
		return t.receiveIPv4(src, payload)
	case etherType == etherIPv6 && (toUs || dst[0] == 0x33 && dst[1] == 0x33):
		return t.receiveIPv6(src, payload, toUs, now)
	}
	return false
}

// build queues a frame to dst with n bytes after the Ethernet header and returns these bytes, or
// nil if the queue has depth frames already.
func (t *Table) build(dst [6]byte, etherType uint16, n, depth int) []byte {
	header := etherLen
	if t.vlan != 0 {
		header += tagLen
	}
	frame := t.queue.push(header+n, depth)
	if frame == nil {
		t.counters.DropQueueFull++
		return nil
	}
	copy(frame, dst[:])
	copy(frame[6:], t.mac[:])
	if t.vlan != 0 {
		binary.BigEndian.PutUint16(frame[12:], etherVLAN)
		binary.BigEndian.PutUint16(frame[14:], t.vlan)
	}
	binary.BigEndian.PutUint16(frame[header-2:], etherType)
	return frame[header:]
}
