package rdmacm

import (
	"fmt"
	"net/netip"
)

// ServiceID identifies the service that a REQ addresses (12.7).
type ServiceID uint64

// portSpaceTCP and portSpaceUDP are librdmacm's RDMA_PS_TCP and RDMA_PS_UDP: the prefix of the RDMA
// IP CM service and the IP protocol number (annex A11).
const (
	portSpaceTCP = 0x0106
	portSpaceUDP = 0x0111
)

// TCPService returns the service ID of a port in librdmacm's RDMA_PS_TCP.
func TCPService(port uint16) ServiceID { return portSpaceTCP<<16 | ServiceID(port) }

// UDPService returns the service ID of a port in librdmacm's RDMA_PS_UDP.
func UDPService(port uint16) ServiceID { return portSpaceUDP<<16 | ServiceID(port) }

// Port returns the port of a service, and whether it is one of RDMA_PS_UDP.
func (s ServiceID) Port() (port uint16, udp bool) { return uint16(s), s>>16 == portSpaceUDP }

// ipHeaderLen is the part of a REQ's private data that the RDMA IP CM service uses; the rest is the
// program's (annex A11).
const ipHeaderLen = 36

// MaxRequestPrivate is the maximum private data of a program in a REQ, in bytes. Other messages
// hold more.
const MaxRequestPrivate = 92 - ipHeaderLen

// IPHeader is the start of a REQ's private data in librdmacm's port spaces: the IP addresses (annex
// A11).
type IPHeader struct {
	SourcePort          uint16
	Source, Destination netip.Addr // of one family
}

// Put writes the header of version 0.0 to the first 36 bytes of private.
func (h IPHeader) Put(private []byte) {
	clear(private[:ipHeaderLen])
	be.PutUint16(private[2:], h.SourcePort)
	if h.Source.Is4() {
		private[1] = 4 << 4
		source, destination := h.Source.As16(), h.Destination.As16()
		copy(private[16:], source[12:])
		copy(private[32:], destination[12:])
		return
	}
	private[1] = 6 << 4
	putGID(private[4:], h.Source)
	putGID(private[20:], h.Destination)
}

// ParseIPHeader parses the header. The error is ErrMAD.
func ParseIPHeader(private []byte) (h IPHeader, err error) {
	if len(private) < ipHeaderLen {
		return h, fmt.Errorf("rdmacm: IP header: %d bytes: want at least %d: %w", len(private),
			ipHeaderLen, ErrMAD)
	}
	if private[0] != 0 {
		return h, fmt.Errorf("rdmacm: IP header: version %d.%d: want 0.0: %w", private[0]>>4,
			private[0]&15, ErrMAD)
	}
	h.SourcePort = be.Uint16(private[2:])
	switch v := private[1] >> 4; v {
	case 4:
		h.Source = netip.AddrFrom4([4]byte(private[16:20]))
		h.Destination = netip.AddrFrom4([4]byte(private[32:36]))
	case 6:
		h.Source = netip.AddrFrom16([16]byte(private[4:20]))
		h.Destination = netip.AddrFrom16([16]byte(private[20:36]))
	default:
		return h, fmt.Errorf("rdmacm: IP header: IP version %d: want 4 or 6: %w", v, ErrMAD)
	}
	return h, nil
}
