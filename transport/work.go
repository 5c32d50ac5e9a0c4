package transport

import (
	"fmt"

	"github.com/goroce/goroce/transport/wire"
)

// SGE is a scatter/gather element: a piece of local memory inside a memory region.
type SGE struct {
	Addr   uint64 // virtual address, as MemoryRegion.Addr counts
	Length uint32 // bytes
	LKey   uint32
}

// Op is the operation of a work request and of its completion.
type Op uint8

// The operations of a send queue (ibv_wr_opcode), then those of a receive queue. A receive that a
// WRITE with immediate data consumes completes as OpRecvWriteImm (ibv_wc_opcode).
const (
	OpSend Op = iota
	OpSendImm
	OpSendInv
	OpWrite
	OpWriteImm
	OpRead
	OpCmpSwap
	OpFetchAdd
	OpLocalInv
	OpRecv
	OpRecvWriteImm
	sendOps = OpRecv // the number of the first kind
)

var opNames = [...]string{"SEND", "SEND_WITH_IMM", "SEND_WITH_INV", "RDMA_WRITE",
	"RDMA_WRITE_WITH_IMM", "RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "LOCAL_INV",
	"RECV", "RECV_RDMA_WITH_IMM"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// hasResponse reports whether the operation returns data: READ and the atomics.
func (o Op) hasResponse() bool { return o-OpRead <= OpFetchAdd-OpRead }
func (o Op) isAtomic() bool    { return o-OpCmpSwap <= OpFetchAdd-OpCmpSwap }

// hasPayload reports whether the operation sends data: SEND and WRITE.
func (o Op) hasPayload() bool { return o < OpRead }

// isLocal reports whether the operation of a send queue sends no packet (sender_local.go).
func (o Op) isLocal() bool { return o-OpLocalInv < OpRecv-OpLocalInv }

// completes reports whether the peer's program gets a completion: for a SEND, and a WRITE with
// immediate.
func (o Op) completes() bool { return o < OpWrite || o == OpWriteImm }

// WorkRequest is an entry of a send queue (ibv_send_wr). PostSend copies it, and keeps no reference
// to it.
type WorkRequest struct {
	ID uint64 // returned in the completion
	Op Op

	Signaled  bool // make a completion, also on success
	Fence     bool // wait until earlier READs and atomics are done
	Solicited bool // raise a solicited event at the receiver
	Inline    bool // copy Data now; it may be reused when PostSend returns

	SGList []SGE  // local memory: source of SEND and WRITE, destination of READ and atomics
	Data   []byte // with Inline: the source instead of SGList, needs no memory region

	Imm uint32 // immediate data of the _IMM operations, host order
	// OpSendInv: the key that the peer invalidates, of its own. OpLocalInv: the key of this side
	// that is invalidated.
	InvalidateKey uint32
	RemoteAddr    uint64 // WRITE, READ, atomics
	RKey          uint32
	CompareAdd    uint64 // OpCmpSwap: compare; OpFetchAdd: add
	Swap          uint64 // OpCmpSwap

	// Datagram (UD) only.
	AH         *AddressHandle
	RemoteQPN  wire.QPN
	RemoteQKey uint32
}

// sendFlags are the options of a WorkRequest (ibv_send_flags).
type sendFlags uint8

const (
	signaled sendFlags = 1 << iota
	fence
	solicited
	inline
)

func (wr *WorkRequest) flags() (f sendFlags) {
	if wr.Signaled {
		f |= signaled
	}
	if wr.Fence {
		f |= fence
	}
	if wr.Solicited {
		f |= solicited
	}
	if wr.Inline {
		f |= inline
	}
	return f
}

// RecvRequest is an entry of a receive queue (ibv_recv_wr).
type RecvRequest struct {
	ID     uint64
	SGList []SGE
}

// sendWQE is a work request in its queue. It has no pointer, so that the garbage collector need not
// scan send queues.
type sendWQE struct {
	id         uint64
	remoteAddr uint64
	sge        SGE // the first; further ones in sendQueue.sges
	rkey       uint32
	imm        uint32 // immediate data, or the key to invalidate
	length     uint32
	first      wire.PSN // valid once its first packet was sent
	packets    uint32   // PSNs it takes
	op         Op
	flags      sendFlags
	sges       uint8
}

// recvWQE is a receive request in its queue.
type recvWQE struct {
	id    uint64
	sge   SGE
	total uint32 // bytes of all its elements
	sges  uint8
	slot  uint32 // where its further elements are
}
