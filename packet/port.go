package packet

import (
	"encoding/hex"
	"strings"

	"github.com/goroce/goroce/units"
)

// Burst is the number of frames per call of a port, which spreads the cost of the call over them.
const Burst = 32

// Class is the traffic class of a frame, which selects its transmit queue. Pausing one class does
// not pause the others.
type Class uint8

// The classes the transport uses. A port with fewer queues maps the higher classes to its last
// queue (see Info.Classes).
const (
	ClassData    Class = iota // requests and READ responses
	ClassAck                  // ACK, NAK, CNP and other responses without data
	ClassControl              // tokens, credits, probe responses, ARP and ND
	Classes                   // the number of classes
)

// MaxClasses is the largest number of classes of a port. Those from Classes on carry data, as
// ClassData does. A port that has them (see Info.Classes) sends higher ones before lower ones, and
// ClassData last.
const MaxClasses = 16

// Port sends and receives frames. It is used by one goroutine and never blocks.
type Port interface {
	// Alloc fills bufs with empty buffers and returns how many. It returns fewer than len(bufs)
	// when the pool is exhausted.
	Alloc(bufs []Buf) int

	// Free returns buffers to their pool.
	Free(bufs []Buf)

	// Recv fills bufs with frames that have arrived and returns how many. The caller owns them
	// until Free or Send.
	Recv(bufs []Buf) int

	// Send queues frames of one class in order and returns how many it accepted, fewer than
	// len(bufs) when the queue is full. The caller keeps the rest.
	Send(class Class, bufs []Buf) int

	// Info describes the port. It does not change while the port is open.
	Info() Info
}

// Info describes a port.
type Info struct {
	Name     string        // for messages: "loop:0", "af_packet:eth0"
	Driver   string        // "net_ring", "net_memif", "fabric", "pipe"
	MAC      MAC           // zero when the port has no address
	MTU      units.Bytes   // largest IP datagram a frame may carry
	LinkRate units.BitRate // 0 when unknown: a virtual port
	// Classes is the number of transmit queues. If it is below packet.Classes, the higher classes
	// share the last one.
	Classes int
	TxDepth int // capacity of a transmit queue in frames

	// Reliable means that the port never drops a frame that it accepted, as a ring in this process.
	// Such a port applies back pressure: Send accepts fewer frames.
	Reliable bool

	Timestamps bool // Recv sets Buf.Time
	// RxCoalescing is the longest time for which the port may hold a frame that has arrived before
	// Recv returns it: the interrupt coalescing of a NIC behind the kernel. It is 0 when the port
	// holds none, and when it is unknown.
	RxCoalescing units.Duration

	Offloads Offloads // performed by the port
}

// MAC is an Ethernet address.
type MAC [6]byte

// String formats the address as Linux does: 02:00:00:00:00:01.
func (m MAC) String() string {
	digits := make([]string, len(m))
	for i := range m {
		digits[i] = hex.EncodeToString(m[i : i+1])
	}
	return strings.Join(digits, ":")
}

// Offloads is a set of tasks that a port performs instead of the transport.
type Offloads uint32

// The offloads goroce knows.
const (
	OffloadIPv4Checksum Offloads = 1 << iota // fills in the IPv4 header checksum on transmit
	// OffloadICRC protects packets from corruption in another way than by the invariant CRC of
	// RoCEv2. A CRC of 0 is not to be checked, as a UDP checksum of 0; any other is.
	OffloadICRC
)

// Has reports whether o includes all of want.
func (o Offloads) Has(want Offloads) bool { return o&want == want }
