package rdmacm

// state is where a connection is (12.9, without the states that differ only in whether an MRA
// went by).
type state uint8

const (
	reqSent     state = iota // active: waits for a REP
	repRcvd                  // active: waits for its program
	reqRcvd                  // passive: waits for its program
	repSent                  // passive: waits for the RTU
	established              //
	dreqSent                 // waits for a DREP
	timewait                 // waits for its packets to leave the network
	closed
)

func (s state) String() string {
	return [...]string{"REQ sent", "REP received", "REQ received", "REP sent", "established",
		"DREQ sent", "timewait", "closed"}[s]
}
