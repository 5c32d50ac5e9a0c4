package wire

import "fmt"

// Opcode is the first byte of the BTH: the transport service, the operation, and the place of the
// packet in its message (IB 9.2.1 table 38).
type Opcode uint8

// The opcodes of the reliable connection service (IB table 38).
const (
	RCSendFirst          Opcode = 0x00
	RCSendMiddle         Opcode = 0x01
	RCSendLast           Opcode = 0x02
	RCSendLastImm        Opcode = 0x03
	RCSendOnly           Opcode = 0x04
	RCSendOnlyImm        Opcode = 0x05
	RCWriteFirst         Opcode = 0x06
	RCWriteMiddle        Opcode = 0x07
	RCWriteLast          Opcode = 0x08
	RCWriteLastImm       Opcode = 0x09
	RCWriteOnly          Opcode = 0x0a
	RCWriteOnlyImm       Opcode = 0x0b
	RCReadRequest        Opcode = 0x0c
	RCReadResponseFirst  Opcode = 0x0d
	RCReadResponseMiddle Opcode = 0x0e
	RCReadResponseLast   Opcode = 0x0f
	RCReadResponseOnly   Opcode = 0x10
	RCAck                Opcode = 0x11
	RCAtomicAck          Opcode = 0x12
	RCCmpSwap            Opcode = 0x13
	RCFetchAdd           Opcode = 0x14
	RCSendLastInv        Opcode = 0x16
	RCSendOnlyInv        Opcode = 0x17
)

// The opcodes of the unreliable connection service (IB table 38).
const (
	UCSendFirst    Opcode = 0x20
	UCSendMiddle   Opcode = 0x21
	UCSendLast     Opcode = 0x22
	UCSendLastImm  Opcode = 0x23
	UCSendOnly     Opcode = 0x24
	UCSendOnlyImm  Opcode = 0x25
	UCWriteFirst   Opcode = 0x26
	UCWriteMiddle  Opcode = 0x27
	UCWriteLast    Opcode = 0x28
	UCWriteLastImm Opcode = 0x29
	UCWriteOnly    Opcode = 0x2a
	UCWriteOnlyImm Opcode = 0x2b
)

// The opcodes of the unreliable datagram service (IB table 38), and the congestion notification
// packet of RoCEv2 (A17.9.3).
const (
	UDSendOnly    Opcode = 0x64
	UDSendOnlyImm Opcode = 0x65
	CNP           Opcode = 0x81
)

// Manufacturer is the first of the opcodes that IB table 38 leaves to manufacturers, to 0xff.
const Manufacturer Opcode = 0xc0

// The opcodes of goroce's own extension (docs/wire.md), which only endpoints that agreed to it send
// each other. It keeps 0xc0 to 0xdf to itself.
const (
	Probe    Opcode = 0xc0 // requests a ProbeAck
	ProbeAck Opcode = 0xc1
	RTS      Opcode = 0xc2 // the demand for tokens
	Token    Opcode = 0xc3 // grants tokens
	CREDIT   Opcode = 0xc4 // grants credits for the receiver's cache
	XACK     Opcode = 0xc5 // an ACK or NAK with TLVs
	XDATA    Opcode = 0xc6 // a packet with TLVs
	SRC      Opcode = 0xc7 // a switch reports its queue to a packet's sender
)

// Transport is the transport service of an opcode: its upper three bits (IB table 38).
type Transport uint8

// The transport services of IB table 38 that this package implements, and the reserved one of A17's
// CNP.
const (
	RC           Transport = 0
	UC           Transport = 1
	UD           Transport = 3
	cnpTransport Transport = 4
)

// Kind is the operation of an opcode, independent of service and place in the message (IB 9.4).
type Kind uint8

// The operations of IB 9.4, the responses of IB 9.7.5 and the CNP of A17.9.3. Unknown opcodes have
// the zero value.
const (
	_ Kind = iota
	Send
	Write
	Read
	ReadResponse
	Ack
	AtomicAck
	CmpSwap
	FetchAdd
	CNPKind
	Extension // of goroce
)

// OpcodeInfo is one row of IB table 38.
type OpcodeInfo struct {
	Name        string    // such as RC_SEND_FIRST
	Valid       bool      // defined by the table or A17, and implemented
	Transport   Transport // service
	Kind        Kind      // operation
	First, Last bool      // place in the message: ONLY is both, MIDDLE neither
	Imm         bool      // an ImmDt ends the extended headers
	Inv         bool      // an IETH ends the extended headers
	RETH        bool      // a RETH begins them
	AETH        bool      // an AETH begins them
	AtomicETH   bool      // an AtomicETH is all of them
	DETH        bool      // a DETH begins them
	Payload     bool      // payload may follow
	Request     bool      // travels from requester to responder and uses up PSNs
	Ext         uint8     // bytes between the BTH and the payload; of XACK and XDATA, and the TLVs
}

// Info returns the row of o in IB table 38. Valid is false in the rows of unknown opcodes.
func (o Opcode) Info() *OpcodeInfo { return &opcodes[o] }

// String returns the name of o, such as RC_SEND_FIRST, or its number if it has none.
func (o Opcode) String() string {
	if s := opcodes[o].Name; s != "" {
		return s
	}
	return fmt.Sprintf("opcode 0x%02x", uint8(o))
}

var transportNames = [...]string{RC: "RC", UC: "UC", 2: "RD", UD: "UD", cnpTransport: "CNP",
	5: "XRC"}

// String returns the name of t in IB table 38.
func (t Transport) String() string {
	if int(t) < len(transportNames) {
		return transportNames[t]
	}
	return fmt.Sprintf("transport %d", uint8(t))
}

var kindNames = [...]string{"none", "SEND", "WRITE", "READ_REQ", "READ_RESP", "ACK", "ATOMIC_ACK",
	"CMP_SWAP", "FETCH_ADD", "CNP", "EXTENSION"}

// String returns k as in the names of opcodes.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
