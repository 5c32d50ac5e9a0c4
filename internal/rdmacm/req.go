package rdmacm

import (
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
)

// ServiceType is the transport service that a REQ asks for (12.6.5).
type ServiceType uint8

// The services that a connection can have. RD and what the extended transport type names are
// refused.
const (
	RC ServiceType = 0
	UC ServiceType = 1
)

// REQ asks for a connection (12.6.5). Timeouts are codes of 4.096 µs · 2^n.
type REQ struct {
	LocalID               CommID
	Service               ServiceID
	LocalGUID             uint64
	LocalQKey             uint32
	LocalQPN              wire.QPN
	ResponderResources    uint8  // READs and atomics of the peer that the sender answers at a time
	LocalEECN             uint32 // 24 bits; RD only
	InitiatorDepth        uint8  // READs and atomics that the sender has outstanding at a time
	RemoteEECN            uint32 // 24 bits; RD only
	RemoteResponseTimeout uint8  // 5 bits: the peer shall answer within
	Type                  ServiceType
	EndToEndFlowControl   bool
	StartingPSN           wire.PSN // that the first packet to the sender shall have
	LocalResponseTimeout  uint8    // 5 bits: the sender answers within
	RetryCount            uint8    // 3 bits: for the peer's queue pair
	PKey                  uint16
	MTU                   uint8 // 4 bits: code of the path MTU, 1 for 256 to 5 for 4096
	RDCExists             bool
	RNRRetryCount         uint8 // 3 bits: for the peer's queue pair
	MaxCMRetries          uint8 // 4 bits: how often a message is repeated
	SRQ                   bool
	ExtendedType          uint8 // 3 bits
	Primary, Alternate    Path
	Private               [92]byte
}

// Path is how packets of the connection go (12.6.5). On Ethernet there are no LIDs: they are
// 0xffff.
type Path struct {
	LocalLID, RemoteLID uint16
	LocalGID, RemoteGID netip.Addr
	FlowLabel           uint32 // 20 bits
	Rate                uint8  // 6 bits
	TrafficClass        uint8
	HopLimit            uint8
	SL                  uint8 // 4 bits
	SubnetLocal         bool
	LocalACKTimeout     uint8 // 5 bits
}

func (*REQ) attribute() attribute { return attrREQ }

func (m *REQ) put(b []byte) {
	be.PutUint32(b, uint32(m.LocalID))
	be.PutUint64(b[8:], uint64(m.Service))
	be.PutUint64(b[16:], m.LocalGUID)
	be.PutUint32(b[28:], m.LocalQKey)
	put24(b[32:], m.LocalQPN, m.ResponderResources)
	put24(b[36:], m.LocalEECN, m.InitiatorDepth)
	put24(b[40:], m.RemoteEECN,
		m.RemoteResponseTimeout<<3|uint8(m.Type)&3<<1|bit(m.EndToEndFlowControl, 0))
	put24(b[44:], m.StartingPSN, m.LocalResponseTimeout<<3|m.RetryCount&7)
	be.PutUint16(b[48:], m.PKey)
	b[50] = m.MTU<<4 | bit(m.RDCExists, 3) | m.RNRRetryCount&7
	b[51] = m.MaxCMRetries<<4 | bit(m.SRQ, 3) | m.ExtendedType&7
	m.Primary.put(b[52:])
	m.Alternate.put(b[96:])
	copy(b[140:], m.Private[:])
}

func (m *REQ) get(b []byte) {
	m.LocalID = CommID(be.Uint32(b))
	m.Service = ServiceID(be.Uint64(b[8:]))
	m.LocalGUID = be.Uint64(b[16:])
	m.LocalQKey = be.Uint32(b[28:])
	qpn, responder := get24(b[32:])
	m.LocalQPN, m.ResponderResources = wire.QPN(qpn), responder
	m.LocalEECN, m.InitiatorDepth = get24(b[36:])
	m.RemoteEECN, _ = get24(b[40:])
	m.RemoteResponseTimeout, m.Type, m.EndToEndFlowControl = b[43]>>3, ServiceType(b[43]>>1&3),
		b[43]&1 != 0
	psn, _ := get24(b[44:])
	m.StartingPSN, m.LocalResponseTimeout, m.RetryCount = wire.PSN(psn), b[47]>>3, b[47]&7
	m.PKey = be.Uint16(b[48:])
	m.MTU, m.RDCExists, m.RNRRetryCount = b[50]>>4, b[50]&8 != 0, b[50]&7
	m.MaxCMRetries, m.SRQ, m.ExtendedType = b[51]>>4, b[51]&8 != 0, b[51]&7
	m.Primary.get(b[52:])
	m.Alternate.get(b[96:])
	copy(m.Private[:], b[140:])
}

func (p *Path) put(b []byte) {
	be.PutUint16(b, p.LocalLID)
	be.PutUint16(b[2:], p.RemoteLID)
	putGID(b[4:], p.LocalGID)
	putGID(b[20:], p.RemoteGID)
	be.PutUint32(b[36:], p.FlowLabel<<12|uint32(p.Rate&63))
	b[40], b[41] = p.TrafficClass, p.HopLimit
	b[42] = p.SL<<4 | bit(p.SubnetLocal, 3)
	b[43] = p.LocalACKTimeout << 3
}

func (p *Path) get(b []byte) {
	p.LocalLID, p.RemoteLID = be.Uint16(b), be.Uint16(b[2:])
	p.LocalGID, p.RemoteGID = getGID(b[4:20]), getGID(b[20:36])
	p.FlowLabel, p.Rate = be.Uint32(b[36:])>>12, b[39]&63
	p.TrafficClass, p.HopLimit = b[40], b[41]
	p.SL, p.SubnetLocal = b[42]>>4, b[42]&8 != 0
	p.LocalACKTimeout = b[43] >> 3
}
