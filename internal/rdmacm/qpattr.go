package rdmacm

import (
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// QPAttr holds the attributes that both sides agreed on, with the names of transport's QPAttr and
// AddressVector. The program chooses the attributes that no message carries,
// such as access rights and the RNR timer.
type QPAttr struct {
	PKey uint16 // INIT

	Source, IP   netip.Addr // AddressVector
	TrafficClass uint8
	HopLimit     uint8
	FlowLabel    uint32

	PathMTU         units.Bytes // RTR
	DestQPN         wire.QPN
	RecvPSN         wire.PSN
	MaxDestRdAtomic int

	SendPSN     wire.PSN // RTS
	Timeout     uint8
	RetryCount  uint8
	RNRRetry    uint8
	MaxRdAtomic int
}

// QPAttr returns the attributes for the queue pair: on the passive side from ConnectRequest on,
// with the offer for Accept; on the active side from ConnectResponse on, with the offer that was
// passed to Connect.
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
