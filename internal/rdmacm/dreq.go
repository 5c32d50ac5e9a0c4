package rdmacm

import "github.com/goroce/goroce/transport/wire"

// DREQ ends a connection (12.6.10).
type DREQ struct {
	LocalID, RemoteID CommID
	RemoteQPN         wire.QPN // the receiver's queue pair
	Private           [220]byte
}

func (*DREQ) attribute() attribute { return attrDREQ }

func (m *DREQ) put(b []byte) {
	putIDs(b, m.LocalID, m.RemoteID)
	put24(b[8:], m.RemoteQPN, 0)
	copy(b[12:], m.Private[:])
}

func (m *DREQ) get(b []byte) {
	m.LocalID, m.RemoteID = getIDs(b)
	qpn, _ := get24(b[8:])
	m.RemoteQPN = wire.QPN(qpn)
	copy(m.Private[:], b[12:])
}

// DREP replies to a DREQ (12.6.11).
type DREP struct {
	LocalID, RemoteID CommID
	Private           [224]byte
}

func (*DREP) attribute() attribute { return attrDREP }

func (m *DREP) put(b []byte) {
	putIDs(b, m.LocalID, m.RemoteID)
	copy(b[8:], m.Private[:])
}

func (m *DREP) get(b []byte) {
	m.LocalID, m.RemoteID = getIDs(b)
	copy(m.Private[:], b[8:])
}
