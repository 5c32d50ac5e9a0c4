package rdmacm

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Offer holds a program's parameters of a connection, in terms of the verbs.
type Offer struct {
	QPN                wire.QPN
	PSN                wire.PSN // of the peer's first packet
	ResponderResources uint8    // maximum outstanding READs and atomics of the peer
	InitiatorDepth     uint8    // maximum outstanding READs and atomics of ours
	RetryCount         uint8    // 0..7, for both queue pairs; that of the active side is used
	RNRRetry           uint8    // 0..7, for the peer's queue pair
	SRQ                bool     // we receive from a shared receive queue
	Private            []byte   // for the peer's program: up to 56 bytes in a REQ, 196 in a REP
}

func (o *Offer) check(maxPrivate int) error {
	switch {
	case o.QPN == 0 || o.QPN > wire.PSNMask || o.PSN > wire.PSNMask:
		return fmt.Errorf("QPN %#x, PSN %#x: want 24 bits each, and a QPN other than 0: %w",
			uint32(o.QPN), uint32(o.PSN), ErrInvalid)
	case o.RetryCount > 7 || o.RNRRetry > 7:
		return fmt.Errorf("retry counts %d and %d: want 0 to 7: %w", o.RetryCount, o.RNRRetry,
			ErrInvalid)
	case len(o.Private) > maxPrivate:
		return fmt.Errorf("%d bytes of private data: want at most %d: %w", len(o.Private),
			maxPrivate, ErrInvalid)
	}
	return nil
}

// Dial holds the parameters of Connect.
type Dial struct {
	Offer
	Local, Peer  netip.Addr
	Service      ServiceID
	SourcePort   uint16 // in the IP header; 0 means one of 0xC000..0xFFFF
	Type         ServiceType
	MTU          units.Bytes // of the path: 256 to 4096
	PKey         uint16      // 0 means the default partition, 0xffff
	TrafficClass uint8
	HopLimit     uint8 // 0 means 64
	FlowLabel    uint32
}

// mtuCode returns the code of a path MTU, from 1 for 256 to 5 for 4096, or 0 if it is invalid.
func mtuCode(mtu units.Bytes) uint8 {
	for code := uint8(1); code <= 5; code++ {
		if mtu == 128<<code {
			return code
		}
	}
	return 0
}
