package rdmacm

// state is the state of a connection (12.9, without the states that differ only in whether an MRA
// was exchanged).
type state uint8

const (
	reqSent     state = iota // active: waits for a REP
	repRcvd                  // active: waits for its program
	reqRcvd                  // passive: waits for its program
	repSent                  // passive: waits for the RTU
	established              //
	dreqSent                 // waits for a DREP
	timewait                 // waits until its packets have left the network
	closed
)

func (s state) String() string {
	return [...]string{"REQ sent", "REP received", "REQ received", "REP sent", "established",
		"DREQ sent", "timewait", "closed"}[s]
}
