package protocol

// The operations of the connection manager (verbs/librdmacm/cm_protocol.h).
const (
	OpCMCreateChannel Op = FirstCM + iota
	OpCMDestroyChannel
	OpCMGetEvent
	OpCMCreateID
	OpCMDestroyID
	OpCMMigrateID
	OpCMBind
	OpCMResolveAddr
	OpCMResolveRoute
	OpCMListen
	OpCMConnect
	OpCMAccept
	OpCMReject
	OpCMEstablish
	OpCMDisconnect
	OpCMNotify
	OpCMQPAttr
	OpCMQuery
	OpCMSetOption
)

// MaxPrivate is the most private data of a message.
const MaxPrivate = 256

// CMAddr is an IP address with a port.
type CMAddr struct {
	Addr   [16]byte // IPv4 mapped into IPv6
	Scope  uint32
	Family uint16 // 4, 6, or 0 for none
	Port   uint16
}

// CMCreateID is the body of OpCMCreateID. The cookie comes back in events.
type CMCreateID struct {
	Cookie                        uint64
	Channel, PortSpace, QPType, _ uint32
}

// CMReported is the reply to OpCMDestroyID and OpCMMigrateID: how many events of the ID the library
// has fetched.
type CMReported struct {
	Events, _ uint32
}

// CMHandleValue is the body of OpCMMigrateID (a channel), OpCMListen (a backlog), OpCMResolveRoute
// (milliseconds), OpCMNotify (enum ibv_event_type) and OpCMQPAttr (enum ibv_qp_state).
type CMHandleValue struct {
	Handle, Value uint32
}

// CMResolve is the body of OpCMBind, with the source alone, and OpCMResolveAddr.
type CMResolve struct {
	Handle, TimeoutMS   uint32
	Source, Destination CMAddr
}

// CMRoute is the reply to OpCMBind, OpCMListen and OpCMQuery.
type CMRoute struct {
	Local, Peer CMAddr
	Bound       uint32 // to the device
	MTU         uint32 // enum ibv_mtu
	Path        Path   // of the route, once resolved
}

// CMParam is struct rdma_conn_param or struct rdma_ud_param.
type CMParam struct {
	Responder, Initiator, RetryCount, RNRRetry uint8
	FlowControl, SRQ, PrivateLen, _            uint8
	QPN, QKey                                  uint32
}

// CMConnect is the body of OpCMConnect, OpCMAccept and OpCMReject.
type CMConnect struct {
	Cookie    uint64
	Handle, _ uint32
	Param     CMParam
	Private   [MaxPrivate]byte
}

// CMEvent is the reply to OpCMGetEvent, whose body is the channel's handle.
type CMEvent struct {
	Cookie    uint64 // of the ID; of the listener with a request
	Kind      uint32 // enum rdma_cm_event_type
	Status    int32
	NewID     uint32 // handle of a request's ID
	PortSpace uint32
	QPType    uint32
	_         [2]uint32
	Route     CMRoute
	Param     CMParam
	Private   [MaxPrivate]byte
}

// CMOption is the body of OpCMSetOption.
type CMOption struct {
	Handle, Level, Name, Value uint32
}
