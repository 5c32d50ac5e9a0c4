package rdmacm

import (
	"fmt"
	"net/netip"
)

// ServiceID is whom a REQ is for (12.7).
type ServiceID uint64

// portSpaceTCP is RDMA_PS_TCP of librdmacm: the IP protocol's number behind the prefix of the RDMA
// IP CM service (annex A11).
const portSpaceTCP = 0x0106

// TCPService is the service of a port in librdmacm's RDMA_PS_TCP.
func TCPService(port uint16) ServiceID { return portSpaceTCP<<16 | ServiceID(port) }

// ipHeaderLen is how much of a REQ's private data the RDMA IP CM service takes; the rest is the
// program's (annex A11).
const ipHeaderLen = 36

// MaxRequestPrivate is the most private data of a program in a REQ, in bytes; others hold more.
const MaxRequestPrivate = 92 - ipHeaderLen

// IPHeader begins the private data of a REQ in librdmacm's port spaces: the addresses in terms of
// IP (annex A11).
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

// ParseIPHeader reads the header. The error is ErrMAD.
func ParseIPHeader(private []byte) (h IPHeader, err error) {
	if len(private) < ipHeaderLen {
		return h, fmt.Errorf("rdmacm: IP header: %d bytes are fewer than %d: %w", len(private),
			ipHeaderLen, ErrMAD)
	}
	if private[0] != 0 {
		return h, fmt.Errorf("rdmacm: IP header: version %d.%d is not 0.0: %w", private[0]>>4,
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
		return h, fmt.Errorf("rdmacm: IP header: IP version %d: %w", v, ErrMAD)
	}
	return h, nil
}
