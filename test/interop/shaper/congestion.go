package shaper

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

// Congestion is what RoCEv2 packets meet of a switch whose queue is long: of those that are
// ECN-capable some leave with congestion experienced.
type Congestion struct {
	Marks float64       // probability for a packet of either direction
	For   time.Duration // it is over so long after the first RoCEv2 packet; 0: never
	// Notify has the wire tell the sender at the first end of its marks, in the place of a receiver
	// that does not: behind the next acknowledgement that it passes comes a CNP (notify.go).
	Notify bool
}

// congested says whether the queue is long now.
func (d *direction) congested(now time.Time) bool {
	if d.since.IsZero() {
		d.since = now
	}
	return d.faults.For == 0 || now.Sub(d.since) < d.faults.For
}

// mark marks a packet that is ECN-capable.
func (d *direction) mark(frame []byte) {
	if setCE(frame) {
		d.counts.Marked++
		if d.tell != nil {
			d.tell.marked.Store(true)
		}
	}
}

// look counts what a packet says of congestion.
func (d *direction) look(payload []byte) {
	switch {
	case len(payload) < bthSize:
	case payload[0] == opcodeCNP:
		d.counts.CNPs++
	case payload[becnAt]&becn != 0:
		d.counts.Backward++
	}
}

// notice is what one direction has to tell the other: that a packet was marked since the last CNP.
type notice struct{ marked atomic.Bool }

// The ECN field (RFC 3168, section 5): the last two bits of IPv4's TOS and of IPv6's traffic class.
const (
	ecnMask = 3
	ecnCE   = 3
)

// setCE makes congestion experienced of either codepoint that is ECN-capable, in a frame of IP. It
// answers false for one that is not, or that has the mark already.
func setCE(frame []byte) bool {
	ip := frame[ethernetSize:]
	if ipv6(frame) {
		const shift = 4 // the traffic class ends in the middle of a byte
		if !capable(ip[1] >> shift & ecnMask) {
			return false
		}
		ip[1] |= ecnCE << shift
		return true
	}
	if !capable(ip[1] & ecnMask) {
		return false
	}
	ip[1] |= ecnCE
	setChecksum(ip[:ip[0]&15*4])
	return true
}

// capable says that a codepoint is ECT(0) or ECT(1).
func capable(ecn byte) bool { return ecn != 0 && ecn != ecnCE }

// checksumAt is where IPv4's header has its checksum.
const checksumAt = 10

// setChecksum sets the checksum of an IPv4 header (RFC 791, section 3.1).
func setChecksum(header []byte) {
	clear(header[checksumAt : checksumAt+2])
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(header[checksumAt:], ^uint16(sum))
}
