package rdmacm

import "fmt"

// Stage says what a REJ or an MRA speaks of (12.6.6, 12.6.7).
type Stage uint8

// The stages of a connection.
const (
	StageREQ   Stage = 0
	StageREP   Stage = 1
	StageOther Stage = 2 // REJ: no message, the connection; MRA: a LAP
)

// Reason says why a connection was rejected (12.6.7.2).
type Reason uint16

// The reasons that a connection over Ethernet can meet.
const (
	NoQP                  Reason = 1
	NoResources           Reason = 3
	Timeout               Reason = 4
	Unsupported           Reason = 5
	InvalidCommID         Reason = 6
	InvalidInstance       Reason = 7
	InvalidServiceID      Reason = 8
	InvalidServiceType    Reason = 9
	StaleConnection       Reason = 10
	InvalidGID            Reason = 12
	InvalidTrafficClass   Reason = 15
	InvalidHopLimit       Reason = 16
	InvalidMTU            Reason = 26
	InsufficientResources Reason = 27
	ConsumerReject        Reason = 28
	InvalidRNRRetry       Reason = 29
	DuplicateCommID       Reason = 30
	InvalidClassVersion   Reason = 31
	InvalidFlowLabel      Reason = 32
)

var reasons = map[Reason]string{
	NoQP: "no queue pair", NoResources: "no resources", Timeout: "timeout",
	Unsupported:   "unsupported request",
	InvalidCommID: "invalid communication ID", InvalidInstance: "invalid communication instance",
	InvalidServiceID: "nobody listens", InvalidServiceType: "invalid transport service type",
	StaleConnection: "stale connection", InvalidGID: "GID rejected",
	InvalidTrafficClass: "invalid traffic class",
	InvalidHopLimit:     "invalid hop limit", InvalidMTU: "invalid path MTU",
	InsufficientResources: "insufficient responder resources",
	ConsumerReject:        "rejected by the program",
	InvalidRNRRetry:       "RNR retry count rejected",
	DuplicateCommID:       "duplicate communication ID",
	InvalidClassVersion:   "invalid class version", InvalidFlowLabel: "invalid flow label",
}

func (r Reason) String() string {
	if s, ok := reasons[r]; ok {
		return s
	}
	return fmt.Sprintf("Reason(%d)", uint16(r))
}

// REJ rejects a connection, or gives it up (12.6.7).
type REJ struct {
	LocalID, RemoteID CommID // 0 where the sender has or knows none
	Rejected          Stage  // 2 bits
	InfoLen           uint8  // 7 bits: bytes of Info that count
	Reason            Reason
	Info              [72]byte // what would have been accepted; the GUID of who timed out
	Private           [148]byte
}

func (*REJ) attribute() attribute { return attrREJ }

func (m *REJ) put(b []byte) {
	putIDs(b, m.LocalID, m.RemoteID)
	b[8], b[9] = uint8(m.Rejected)<<6, m.InfoLen<<1
	be.PutUint16(b[10:], uint16(m.Reason))
	copy(b[12:], m.Info[:])
	copy(b[84:], m.Private[:])
}

func (m *REJ) get(b []byte) {
	m.LocalID, m.RemoteID = getIDs(b)
	m.Rejected, m.InfoLen = Stage(b[8]>>6), b[9]>>1
	m.Reason = Reason(be.Uint16(b[10:]))
	copy(m.Info[:], b[12:])
	copy(m.Private[:], b[84:])
}
