package rdmacm

// LAP asks to load an alternate path (12.8). We have none, and refuse it by an APR: only the IDs
// are read.
type LAP struct {
	LocalID, RemoteID CommID
}

func (*LAP) attribute() attribute { return attrLAP }
func (m *LAP) put(b []byte)       { putIDs(b, m.LocalID, m.RemoteID) }
func (m *LAP) get(b []byte)       { m.LocalID, m.RemoteID = getIDs(b) }

// alternateUnsupported is the APR status "alternate paths not supported" (12.8).
const alternateUnsupported = 2

// APR returns a LAP (12.8). What would explain the status is not read.
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
