package rdmacm

import (
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// QPAttr is what both sides agreed on, under the names of transport's InitAttr, AddressVector,
// RTRAttr and RTSAttr. What is in none of the messages, as the access rights and the
// RNR timer, is the program's own.
type QPAttr struct {
	PKey uint16 // InitAttr

	Source, IP   netip.Addr // AddressVector
	TrafficClass uint8
	HopLimit     uint8
	FlowLabel    uint32

	PathMTU         units.Bytes // RTRAttr
	DestQPN         wire.QPN
	RecvPSN         wire.PSN
	MaxDestRdAtomic int

	SendPSN     wire.PSN // RTSAttr
	Timeout     uint8
	RetryCount  uint8
	RNRRetry    uint8
	MaxRdAtomic int
}

// QPAttr answers what to move the queue pair to: on the passive side from ConnectRequest on, with
// the offer that goes to Accept; on the active side from ConnectResponse on, with the offer that
// went to Connect.
func (c *Conn) QPAttr(ours Offer) QPAttr {
	req, rep := &c.req, &c.rep
	a := QPAttr{
		PKey: req.PKey, Source: c.local, IP: c.peer, TrafficClass: req.Primary.TrafficClass,
		HopLimit: req.Primary.HopLimit, FlowLabel: req.Primary.FlowLabel,
		PathMTU: 128 << req.MTU, RecvPSN: ours.PSN, RetryCount: req.RetryCount,
	}
	theirs := struct{ responder, initiator, rnrRetry uint8 }{req.ResponderResources,
		req.InitiatorDepth, req.RNRRetryCount}
	a.DestQPN, a.SendPSN, a.Timeout = req.LocalQPN, req.StartingPSN, req.Primary.LocalACKTimeout
	if c.active {
		theirs.responder, theirs.initiator, theirs.rnrRetry = rep.ResponderResources,
			rep.InitiatorDepth, rep.RNRRetryCount
		a.DestQPN, a.SendPSN = rep.LocalQPN, rep.StartingPSN
		a.Timeout = ackTimeout(c.machine.config.PacketLifetime, rep.TargetACKDelay)
	}
	a.RNRRetry = theirs.rnrRetry
	a.MaxDestRdAtomic = int(min(ours.ResponderResources, theirs.initiator))
	a.MaxRdAtomic = int(min(ours.InitiatorDepth, theirs.responder))
	return a
}
