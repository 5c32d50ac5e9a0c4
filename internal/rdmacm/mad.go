package rdmacm

import (
	"encoding/binary"
	"fmt"

	"github.com/goroce/goroce/transport/wire"
)

// The messages are carried by general management datagrams between the queue pairs 1 (13.5).
const (
	QPN  wire.QPN = 1
	QKey uint32   = 0x80010000

	MADLen  = 256 // payload bytes of every datagram (13.4.2)
	madHead = 24
	dataLen = MADLen - madHead
)

// The header of a management datagram (13.4.3) of the communication manager (16.7).
const (
	baseVersion  = 1
	classCM      = 0x07
	classVersion = 2
	methodSend   = 0x03 // ComMgtSend()
)

// attribute is the type of the message in a datagram (16.7).
type attribute uint16

const (
	attrREQ     attribute = 0x10
	attrMRA     attribute = 0x11
	attrREJ     attribute = 0x12
	attrREP     attribute = 0x13
	attrRTU     attribute = 0x14
	attrDREQ    attribute = 0x15
	attrDREP    attribute = 0x16
	attrSIDRREQ attribute = 0x17
	attrSIDRREP attribute = 0x18
	attrLAP     attribute = 0x19
	attrAPR     attribute = 0x1a
)

// CommID identifies a connection at one of its ends. 0 means none.
type CommID uint32

// Message is one of *REQ, *MRA, *REJ, *REP, *RTU, *DREQ, *DREP, *SIDRREQ, *SIDRREP, *LAP and *APR.
type Message interface {
	attribute() attribute
	put(data []byte) // into dataLen zero bytes; values are truncated to their fields
	get(data []byte)
}

func newMessage(a attribute) Message {
	switch a {
	case attrREQ:
		return new(REQ)
	case attrMRA:
		return new(MRA)
	case attrREJ:
		return new(REJ)
	case attrREP:
		return new(REP)
	case attrRTU:
		return new(RTU)
	case attrDREQ:
		return new(DREQ)
	case attrDREP:
		return new(DREP)
	case attrSIDRREQ:
		return new(SIDRREQ)
	case attrSIDRREP:
		return new(SIDRREP)
	case attrLAP:
		return new(LAP)
	case attrAPR:
		return new(APR)
	}
	return nil
}

// Parse returns the transaction ID and the message of a datagram of MADLen bytes. The message keeps
// no reference to mad. The error is ErrMAD.
func Parse(mad []byte) (tid uint64, m Message, err error) {
	bad := func(format string, args ...any) (uint64, Message, error) {
		return 0, nil, fmt.Errorf("rdmacm: parse: "+format+": %w", append(args, ErrMAD)...)
	}
	if len(mad) != MADLen {
		return bad("%d bytes: want %d", len(mad), MADLen)
	}
	if mad[0] != baseVersion || mad[1] != classCM || mad[2] != classVersion ||
		mad[3] != methodSend {
		return bad("unknown version %d, class %#x, class version %d, method %#x", mad[0], mad[1],
			mad[2], mad[3])
	}
	a := attribute(binary.BigEndian.Uint16(mad[16:]))
	if m = newMessage(a); m == nil {
		return bad("unknown attribute %#x", uint16(a))
	}
	m.get(mad[madHead:])
	return binary.BigEndian.Uint64(mad[8:]), m, nil
}

// Append appends the MADLen bytes of a datagram to b.
func Append(b []byte, tid uint64, m Message) []byte {
	b = append(b, make([]byte, MADLen)...)
	mad := b[len(b)-MADLen:]
	mad[0], mad[1], mad[2], mad[3] = baseVersion, classCM, classVersion, methodSend
	binary.BigEndian.PutUint64(mad[8:], tid)
	binary.BigEndian.PutUint16(mad[16:], uint16(m.attribute()))
	m.put(mad[madHead:])
	return b
}
