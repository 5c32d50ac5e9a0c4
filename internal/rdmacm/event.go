package rdmacm

import "fmt"

// EventKind is the kind of an event, in librdmacm's terms.
type EventKind uint8

// The events. A connection that the program accepted or confirmed ends with TimewaitExit. For other
// connections, Rejected or Unreachable is the last event.
const (
	ConnectRequest  EventKind = iota // passive: Accept or Reject
	ConnectResponse                  // active: Confirm or Reject
	Established                      // passive: the peer confirmed
	Rejected                         // by the peer, before it was established, for Reason
	Unreachable                      // no answer from the peer, or none from the program in time
	// Disconnected: by either side; Reason is not 0 if the peer rejected an established connection.
	Disconnected
	TimewaitExit  // the queue pair number may be reused
	LookupRequest // passive: Answer
	// LookupResponse: active; Answer has the queue pair, or the reason why there is none.
	LookupResponse
)

func (k EventKind) String() string {
	names := [...]string{"CONNECT_REQUEST", "CONNECT_RESPONSE", "ESTABLISHED", "REJECTED",
		"UNREACHABLE", "DISCONNECTED", "TIMEWAIT_EXIT", "LOOKUP_REQUEST",
		"LOOKUP_RESPONSE"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is an event of a connection or a lookup.
type Event struct {
	Kind   EventKind
	Conn   *Conn
	Reason Reason
	// Private is the data of the peer's program, zero-padded: REQ 56 bytes, REP 196, REJ 148,
	// SIDR REQ 180, SIDR REP 136.
	Private []byte
	Lookup  *Lookup
	Answer  *SIDRREP // LookupResponse
}
