package rdmacm

// RTU signals that the active side is ready to use the connection (12.6.9).
type RTU struct {
	LocalID, RemoteID CommID
	Private           [224]byte
}

func (*RTU) attribute() attribute { return attrRTU }

func (m *RTU) put(b []byte) {
	putIDs(b, m.LocalID, m.RemoteID)
	copy(b[8:], m.Private[:])
}

func (m *RTU) get(b []byte) {
	m.LocalID, m.RemoteID = getIDs(b)
	copy(m.Private[:], b[8:])
}
