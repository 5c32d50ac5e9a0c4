package protocol

// The session's memory: two arrays with an entry for each queue of work requests, and a page with
// the word that is 1 while the polling core sleeps.
const (
	Queues      = 16384
	TailsOffset = 0
	HeadsOffset = 4 * Queues
	SessionSize = 8 * Queues
	WakeSize    = 4096
)

// CQHead is the head of a completion queue's memory; its ring follows.
type CQHead struct {
	Head, Armed, Waiting uint32
	_                    [29]uint32
}

// The values of CQHead.Armed.
const (
	NotArmed uint32 = iota
	ArmedSolicited
	Armed
)

// Void is the Opcode of a completion that is to be skipped.
const Void = 255

// CQE is a completion. It is valid when Sequence is its index plus 1.
type CQE struct {
	WRID                       uint64
	ByteLen, Imm, QPNum, SrcQP uint32
	Status, Opcode             uint8
	Flags                      uint16
	Sequence                   uint32
}

// WQE is the head of a send request.
type WQE struct {
	WRID, RemoteAddr  uint64
	RKey, Imm, Length uint32
	Elements          uint16
	Opcode, Flags     uint8
}

// The layout of a send request, and the largest strides.
const (
	WQEBody   = 32
	WQEAtomic = 48
	WQESize   = 64
	RQEBody   = 16
	SGESize   = 16
)

// SGE is an element of a request.
type SGE struct {
	Addr         uint64
	Length, LKey uint32
}

// RQE is the head of a receive request.
type RQE struct {
	WRID        uint64
	Elements, _ uint32
}

// SendStride returns the size of a slot for requests with so many elements and bytes inline.
func SendStride(elements, inline int) int {
	body := max(elements*SGESize, inline, WQESize-WQEBody)
	return (WQEBody + body + WQESize - 1) / WQESize * WQESize
}

// RecvStride returns the size of a slot for receives with so many elements.
func RecvStride(elements int) int { return RQEBody + elements*SGESize }
