package rdmacm

import "github.com/goroce/goroce/transport/wire"

// REP accepts a connection (12.6.8).
type REP struct {
	LocalID, RemoteID   CommID
	LocalQKey           uint32
	LocalQPN            wire.QPN
	LocalEECN           uint32   // 24 bits; RD only
	StartingPSN         wire.PSN // of the first packet to the sender (12.6.8)
	ResponderResources  uint8    // maximum outstanding READs and atomics of the peer
	InitiatorDepth      uint8    // maximum outstanding READs and atomics of the sender
	TargetACKDelay      uint8    // 5 bits: the sender acknowledges within 4.096 µs · 2^n
	Failover            uint8    // 2 bits: outcome of the alternate path
	EndToEndFlowControl bool
	RNRRetryCount       uint8 // 3 bits: for the peer's queue pair
	SRQ                 bool
	LocalGUID           uint64
	Private             [196]byte
}

func (*REP) attribute() attribute { return attrREP }

func (m *REP) put(b []byte) {
	putIDs(b, m.LocalID, m.RemoteID)
	be.PutUint32(b[8:], m.LocalQKey)
	put24(b[12:], m.LocalQPN, 0)
	put24(b[16:], m.LocalEECN, 0)
	put24(b[20:], m.StartingPSN, 0)
	b[24], b[25] = m.ResponderResources, m.InitiatorDepth
	b[26] = m.TargetACKDelay<<3 | m.Failover&3<<1 | bit(m.EndToEndFlowControl, 0)
	b[27] = m.RNRRetryCount<<5 | bit(m.SRQ, 4)
	be.PutUint64(b[28:], m.LocalGUID)
	copy(b[36:], m.Private[:])
}

func (m *REP) get(b []byte) {
	m.LocalID, m.RemoteID = getIDs(b)
	m.LocalQKey = be.Uint32(b[8:])
	qpn, _ := get24(b[12:])
	m.LocalQPN = wire.QPN(qpn)
	m.LocalEECN, _ = get24(b[16:])
	psn, _ := get24(b[20:])
	m.StartingPSN = wire.PSN(psn)
	m.ResponderResources, m.InitiatorDepth = b[24], b[25]
	m.TargetACKDelay, m.Failover, m.EndToEndFlowControl = b[26]>>3, b[26]>>1&3, b[26]&1 != 0
	m.RNRRetryCount, m.SRQ = b[27]>>5, b[27]&16 != 0
	m.LocalGUID = be.Uint64(b[28:])
	copy(m.Private[:], b[36:])
}
