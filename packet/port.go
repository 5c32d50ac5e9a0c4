package packet

import (
	"encoding/hex"
	"strings"

	"github.com/goroce/goroce/units"
)

// Burst is the number of frames that move together everywhere: the price of a call into the port
// is paid once per burst.
const Burst = 32

// Class is the traffic class of a frame: the transmit queue it waits in. A pause of one class
// does not hold the others.
type Class uint8

// The classes the transport uses. A port with fewer queues folds the higher ones onto its last
// (see Info.Classes).
const (
	ClassData    Class = iota // requests and READ responses
	ClassAck                  // ACK, NAK, CNP and everything else that answers
	ClassControl              // tokens, credits, probes' answers, ARP and ND
	Classes                   // how many there are
)

// MaxClasses is how many classes a port may tell apart. Those from Classes on carry data as
// ClassData does; a port that has them (see Info.Classes) sends the higher before the lower, and
// ClassData last.
const MaxClasses = 16

// Port moves frames. It is used by one goroutine and never blocks.
type Port interface {
	// Alloc fills bufs with empty buffers and answers how many it had; short on exhaustion.
	Alloc(bufs []Buf) int

	// Free gives buffers back.
	Free(bufs []Buf)

	// Recv fills bufs with frames that have arrived and answers how many. They are the caller's
	// until Free or Send.
	Recv(bufs []Buf) int

	// Send queues frames of one class in order and answers how many it took; short when the
	// queue is full. The rest stay the caller's.
	Send(class Class, bufs []Buf) int

	// Info says what the port is. It does not change while the port is open.
	Info() Info
}

// Info describes a port.
type Info struct {
	Name     string        // what to call it in messages: "loop:0", "af_packet:eth0"
	Driver   string        // "net_ring", "net_memif", "fabric", "pipe"
	MAC      MAC           // its own address, zero when it has none
	MTU      units.Bytes   // largest IP datagram a frame may carry
	LinkRate units.BitRate // 0 when unknown: a virtual port
	// transmit queues; where they are fewer than Classes, the higher classes share the last one
	Classes int
	TxDepth int // frames one queue holds

	// Reliable says that the port never drops a frame that it took (a ring in this process);
	// it then pushes back through a short Send.
	Reliable bool

	Timestamps bool     // Buf.Time is filled on receive
	Offloads   Offloads // what the port does for us
}

// MAC is an Ethernet address.
type MAC [6]byte

// String shows the address as Linux does: 02:00:00:00:00:01.
func (m MAC) String() string {
	digits := make([]string, len(m))
	for i := range m {
		digits[i] = hex.EncodeToString(m[i : i+1])
	}
	return strings.Join(digits, ":")
}

// Offloads are things a port can do in our stead, and then does.
type Offloads uint32

// The offloads goroce knows.
const (
	OffloadIPv4Checksum Offloads = 1 << iota // fills in the IPv4 header checksum on transmit
)

// Has says whether all of want are there.
func (o Offloads) Has(want Offloads) bool { return o&want == want }
