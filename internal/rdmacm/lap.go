package rdmacm

// LAP requests an alternate path (12.8). Alternate paths are not supported and refused by an APR,
// so only the IDs are decoded.
type LAP struct {
	LocalID, RemoteID CommID
}

func (*LAP) attribute() attribute { return attrLAP }
func (m *LAP) put(b []byte)       { putIDs(b, m.LocalID, m.RemoteID) }
func (m *LAP) get(b []byte)       { m.LocalID, m.RemoteID = getIDs(b) }

// alternateUnsupported is the APR status "alternate paths not supported" (12.8).
const alternateUnsupported = 2

// APR replies to a LAP (12.8). The additional information of the status is not decoded.
type APR struct {
	LocalID, RemoteID CommID
	Status            uint8
}

func (*APR) attribute() attribute { return attrAPR }

func (m *APR) put(b []byte) {
	putIDs(b, m.LocalID, m.RemoteID)
	b[9] = m.Status
}

func (m *APR) get(b []byte) {
	m.LocalID, m.RemoteID = getIDs(b)
	m.Status = b[9]
}
