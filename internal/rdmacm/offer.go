package rdmacm

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Offer is what a program brings to a connection, in terms of the verbs.
type Offer struct {
	QPN                wire.QPN
	PSN                wire.PSN // that the peer's first packet shall have
	ResponderResources uint8    // READs and atomics of the peer that we answer at a time, at most
	InitiatorDepth     uint8    // READs and atomics of ours outstanding at a time, at most
	RetryCount         uint8    // 0..7, for both queue pairs; the active side's counts
	RNRRetry           uint8    // 0..7, for the peer's queue pair
	SRQ                bool     // we receive from a shared receive queue
	Private            []byte   // for the peer's program: to 56 bytes in a REQ, 196 in a REP
}

func (o *Offer) check(maxPrivate int) error {
	switch {
	case o.QPN == 0 || o.QPN > wire.PSNMask || o.PSN > wire.PSNMask:
		return fmt.Errorf("QPN %#x or PSN %#x is not one of 24 bits: %w", uint32(o.QPN),
			uint32(o.PSN), ErrInvalid)
	case o.RetryCount > 7 || o.RNRRetry > 7:
		return fmt.Errorf("retry counts %d and %d are not in 0..7: %w", o.RetryCount, o.RNRRetry,
			ErrInvalid)
	case len(o.Private) > maxPrivate:
		return fmt.Errorf("%d bytes of private data are more than %d: %w", len(o.Private),
			maxPrivate, ErrInvalid)
	}
	return nil
}

// Dial is what Connect needs to know.
type Dial struct {
	Offer
	Local, Peer  netip.Addr
	Service      ServiceID
	SourcePort   uint16 // as the IP header tells it; 0: one of 0xC000..0xFFFF
	Type         ServiceType
	MTU          units.Bytes // of the path: 256 to 4096
	PKey         uint16      // 0 means the default partition, 0xffff
	TrafficClass uint8
	HopLimit     uint8 // 0 means 64
	FlowLabel    uint32
}

// mtuCode is 1 for 256 to 5 for 4096, and 0 for what is no path MTU.
func mtuCode(mtu units.Bytes) uint8 {
	for code := uint8(1); code <= 5; code++ {
		if mtu == 128<<code {
			return code
		}
	}
	return 0
}
