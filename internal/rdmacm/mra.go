package rdmacm

// MRA acknowledges a message whose reply takes longer (12.6.6).
type MRA struct {
	LocalID, RemoteID CommID
	Received          Stage // 2 bits
	ServiceTimeout    uint8 // 5 bits: the reply follows within 4.096 µs · 2^n
	Private           [222]byte
}

func (*MRA) attribute() attribute { return attrMRA }

func (m *MRA) put(b []byte) {
	putIDs(b, m.LocalID, m.RemoteID)
	b[8], b[9] = uint8(m.Received)<<6, m.ServiceTimeout<<3
	copy(b[10:], m.Private[:])
}

func (m *MRA) get(b []byte) {
	m.LocalID, m.RemoteID = getIDs(b)
	m.Received, m.ServiceTimeout = Stage(b[8]>>6), b[9]>>3
	copy(m.Private[:], b[10:])
}
