package rdmacm

import "fmt"

// EventKind is what happened to a connection, in librdmacm's terms.
type EventKind uint8

// The events. A connection that was accepted or confirmed by the program ends with TimewaitExit;
// of another one, nothing more comes after Rejected or Unreachable.
const (
	ConnectRequest  EventKind = iota // passive: Accept or Reject
	ConnectResponse                  // active: Confirm or Reject
	Established                      // passive: the peer confirmed
	Rejected                         // by the peer, before it was established; Reason says why
	Unreachable                      // the peer does not answer, or the program took too long
	// by either side; Reason is not 0 if the peer rejected it later
	Disconnected
	TimewaitExit // the numbers of its queue pair may be used again
)

func (k EventKind) String() string {
	names := [...]string{"CONNECT_REQUEST", "CONNECT_RESPONSE", "ESTABLISHED", "REJECTED",
		"UNREACHABLE", "DISCONNECTED", "TIMEWAIT_EXIT"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is something a program wants to know.
type Event struct {
	Kind    EventKind
	Conn    *Conn
	Reason  Reason
	Private []byte // of the peer's program, zeros behind it: REQ 56 bytes, REP 196, REJ 148
}
