package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits of messages.
const (
	Version    = 1
	MaxMessage = 512
	MaxGIDs    = 8
)

// Op is the operation of a request.
type Op uint32

// The operations. Those of the connection manager begin at FirstCM.
const (
	OpHello Op = 1 + iota
	OpQueryPort
	OpAllocPD
	OpDeallocPD
	OpRegMR
	OpReregMR
	OpDeregMR
	OpCreateChannel
	OpDestroyChannel
	OpCreateCQ
	OpResizeCQ
	OpDestroyCQ
	OpCreateSRQ
	OpModifySRQ
	OpQuerySRQ
	OpDestroySRQ
	OpCreateQP
	OpModifyQP
	OpQueryQP
	OpDestroyQP
	OpCreateAH
	OpDestroyAH
	OpShareMemory
	FirstCM Op = 0x100
)

// Header begins every request and reply.
type Header struct {
	Op    Op
	Error uint32
}

// HeaderSize is the size of a Header.
const HeaderSize = 8

// Hello begins a session.
type Hello struct {
	Version, _ uint32
}

// Device is the reply to Hello.
type Device struct {
	LinkBPS                              uint64
	MaxQP, MaxQPWR, MaxSGE, MaxInline    uint32
	MaxCQ, MaxCQE, MaxMR, MaxPD          uint32
	MaxSRQ, MaxSRQWR, MaxAH, MaxRdAtomic uint32
	MaxMTU, GIDCount                     uint32
	MAC                                  [8]byte
	GIDs                                 [MaxGIDs][16]byte
}

// Port is the reply to OpQueryPort.
type Port struct {
	LinkBPS   uint64
	Active, _ uint32
}

// Handle names an object of a session.
type Handle struct {
	Handle, _ uint32
}

// RegMR is the body of OpRegMR and OpReregMR.
type RegMR struct {
	Addr, Length, IOVA        uint64
	PD, Access, Handle, Flags uint32
}

// MR is the reply to RegMR.
type MR struct {
	Handle, LKey, RKey, _ uint32
}

// CreateCQ is the body of OpCreateCQ and OpResizeCQ.
type CreateCQ struct {
	Cookie                    uint64
	Depth, Channel, Handle, _ uint32
}

// CQ is the reply to CreateCQ.
type CQ struct {
	Handle, Depth, Entries, _ uint32
}

// CreateSRQ is the body of OpCreateSRQ.
type CreateSRQ struct {
	Cookie               uint64
	PD, MaxWR, MaxSGE, _ uint32
}

// Ring describes a ring of work requests.
type Ring struct {
	Queue, Offset, Entries, Stride uint32
}

// SRQ is the reply to CreateSRQ and OpQuerySRQ.
type SRQ struct {
	Handle, MaxWR, MaxSGE, Limit uint32
	Ring                         Ring
}

// ModifySRQ is the body of OpModifySRQ.
type ModifySRQ struct {
	Handle, Mask, MaxWR, Limit uint32
}

// CreateQP is the body of OpCreateQP.
type CreateQP struct {
	Cookie                                                  uint64
	Type, PD, SendCQ, RecvCQ, SRQ                           uint32
	MaxSendWR, MaxRecvWR, MaxSendSGE, MaxRecvSGE, MaxInline uint32
	SignalAll, _                                            uint32
}

// QP is the reply to CreateQP.
type QP struct {
	Handle, Number                                          uint32
	MaxSendWR, MaxRecvWR, MaxSendSGE, MaxRecvSGE, MaxInline uint32
	_                                                       uint32
	Send, Recv                                              Ring
}

// Path is struct ibv_ah_attr.
type Path struct {
	DGID                                  [16]byte
	FlowLabel                             uint32
	SGIDIndex, HopLimit, TrafficClass, SL uint8
	StaticRate, IsGlobal, Port, _         uint8
}

// QPAttr is struct ibv_qp_attr: the body of OpModifyQP and the reply to OpQueryQP.
type QPAttr struct {
	Handle, Mask                                       uint32
	State, CurState, MTU, QKey                         uint32
	RQPSN, SQPSN, DestQPN, Access                      uint32
	Path                                               Path
	PKeyIndex                                          uint16
	SQDNotify, SQDraining                              uint8
	MaxRdAtomic, MaxDestRdAtomic, MinRNRTimer, PortNum uint8
	Timeout, RetryCount, RNRRetry, _                   uint8
}

// CreateAH is the body of OpCreateAH.
type CreateAH struct {
	PD, _ uint32
	Path  Path
}

// Event is an asynchronous event.
type Event struct {
	Kind, _ uint32
	Cookie  uint64
}

// ErrMalformed is the error of a message that is none.
var ErrMalformed = errors.New("malformed message")

// ParseHeader returns the header of a request and its body.
func ParseHeader(message []byte) (h Header, body []byte, err error) {
	if len(message) < HeaderSize || len(message) > MaxMessage {
		return h, nil, fmt.Errorf("%d bytes, want %d to %d: %w", len(message), HeaderSize,
			MaxMessage, ErrMalformed)
	}
	h.Op = Op(binary.NativeEndian.Uint32(message))
	h.Error = binary.NativeEndian.Uint32(message[4:])
	return h, message[HeaderSize:], nil
}

// Decode parses a body, which must have exactly the size of T.
func Decode[T any](body []byte) (v T, err error) {
	if n := binary.Size(v); len(body) != n {
		return v, fmt.Errorf("body of %d bytes, want the %d of %T: %w", len(body), n, v,
			ErrMalformed)
	}
	_, err = binary.Decode(body, binary.NativeEndian, &v)
	return v, err
}

// Append appends a message: the header and, unless nil, the body.
func Append(to []byte, h Header, body any) ([]byte, error) {
	to, err := binary.Append(to, binary.NativeEndian, h)
	if err == nil && body != nil {
		to, err = binary.Append(to, binary.NativeEndian, body)
	}
	return to, err
}

// AppendEvent appends the message of an asynchronous event.
func AppendEvent(to []byte, ev Event) ([]byte, error) {
	return binary.Append(to, binary.NativeEndian, ev)
}
