package transport

import (
	"fmt"

	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport/wire"
)

// Status is the outcome of a work request (ibv_wc_status, in the same order).
type Status uint8

// The completion status codes of libibverbs.
const (
	StatusSuccess Status = iota
	StatusLocLenErr
	statusLocQPOpErr
	statusLocEECOpErr
	StatusLocProtErr
	StatusWRFlushErr
	// StatusMWBindErr is libibverbs' IBV_WC_MW_BIND_ERR, the memory management operation error of
	// the InfiniBand spec (10.10.3.2): OpLocalInv could not be executed.
	StatusMWBindErr
	StatusBadRespErr
	statusLocAccessErr
	StatusRemInvReqErr
	StatusRemAccessErr
	StatusRemOpErr
	StatusRetryExcErr
	StatusRNRRetryExcErr
	statusLocRDDViolErr
	statusRemInvRDReqErr
	statusRemAbortErr
	statusInvEECNErr
	statusInvEECStateErr
	statusFatalErr
	statusRespTimeoutErr
	statusGeneralErr
	statuses
)

// The texts follow ibv_wc_status_str, in our own wording.
var statusNames = [statuses]string{
	"success", "local length error", "local QP operation error", "local EE context operation error",
	"local protection error", "work request flushed", "memory management operation error",
	"bad response", "local access error", "remote invalid request", "remote access error",
	"remote operation error", "transport retry count exceeded", "RNR retry count exceeded",
	"local RDD violation", "remote invalid RD request", "aborted by remote",
	"invalid EE context number",
	"invalid EE context state", "fatal error", "response timeout", "general error",
}

// Error makes a Status other than StatusSuccess an error value, for errors.Is.
func (s Status) Error() string { return s.String() }

func (s Status) String() string {
	if s < statuses {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// WorkCompletion is the completion of one work request (ibv_wc).
type WorkCompletion struct {
	ID      uint64 // of the work request
	Status  Status
	Op      Op   // undefined for a send that failed, as in libibverbs
	WithImm bool // Imm is the immediate data
	WithInv bool // Imm is the local key that the peer invalidated
	WithGRH bool // the first 40 bytes of the receive are the GRH (UD)
	V6      bool // the GRH is an IPv6 header; otherwise its last 20 bytes are an IPv4 header
	// Solicited means that the sender asked for an event at the receiver.
	Solicited bool
	ByteLen   uint32   // bytes received or read
	Imm       uint32   // immediate data, or the invalidated key
	QPN       wire.QPN // local queue pair
	SrcQP     wire.QPN // the sender's (UD)
}

// CompletionQueue is a ring of completions. Create it with Endpoint.CreateCQ.
type CompletionQueue struct {
	ep      *Endpoint
	ring    []WorkCompletion
	head    uint32 // next to be polled
	tail    uint32 // next free
	limit   uint32
	users   int
	overrun bool
	ended   bool // destroyed
	armed   notify
	onEvent func(*CompletionQueue)
}

type notify uint8

const (
	notifyNone notify = iota
	notifySolicited
	notifyAny
)

// CreateCQ creates a queue for at least depth completions (ibv_create_cq).
func (e *Endpoint) CreateCQ(depth int) (*CompletionQueue, error) {
	if depth < 1 || depth > endpoint.MaxCQDepth {
		return nil, fmt.Errorf("transport: create CQ: depth %d is not in 1..%d: %w", depth,
			endpoint.MaxCQDepth, ErrInvalid)
	}
	return &CompletionQueue{ep: e, ring: make([]WorkCompletion, ringSize(depth)),
		limit: uint32(depth)}, nil
}

// Destroy destroys the queue and the completions in it (ibv_destroy_cq). It returns ErrBusy while
// queue pairs use the queue.
func (cq *CompletionQueue) Destroy() error {
	switch {
	case cq.ended:
		return fmt.Errorf("transport: destroy CQ: it was destroyed before: %w", ErrInvalid)
	case cq.users > 0:
		return fmt.Errorf("transport: destroy CQ: queue pairs use it %d times; destroy them "+
			"first: %w", cq.users, ErrBusy)
	}
	cq.ended, cq.head = true, cq.tail
	return nil
}

// Resize changes the depth of the queue, and keeps the completions in it (ibv_resize_cq). It
// returns ErrInvalid if they do not fit.
func (cq *CompletionQueue) Resize(depth int) error {
	switch {
	case cq.ended:
		return fmt.Errorf("transport: resize CQ: it is destroyed: %w", ErrInvalid)
	case depth < 1 || depth > endpoint.MaxCQDepth:
		return fmt.Errorf("transport: resize CQ: depth %d is not in 1..%d: %w", depth,
			endpoint.MaxCQDepth, ErrInvalid)
	case depth < cq.Len():
		return fmt.Errorf("transport: resize CQ: depth %d, but %d completions are in it; poll "+
			"them first: %w", depth, cq.Len(), ErrInvalid)
	}
	ring := make([]WorkCompletion, ringSize(depth))
	n := cq.Poll(ring)
	cq.ring, cq.head, cq.tail, cq.limit = ring, 0, uint32(n), uint32(depth)
	return nil
}

// serves reports whether queue pairs of e can complete into the queue. A nil queue serves none.
func (cq *CompletionQueue) serves(e *Endpoint) bool { return cq != nil && cq.ep == e && !cq.ended }

// Poll moves up to len(wcs) completions from the queue to wcs and returns how many (ibv_poll_cq).
func (cq *CompletionQueue) Poll(wcs []WorkCompletion) int {
	n := min(uint32(len(wcs)), cq.tail-cq.head)
	mask := uint32(len(cq.ring) - 1)
	for i := range n {
		wcs[i] = cq.ring[(cq.head+i)&mask]
	}
	cq.head += n
	return int(n)
}

// Len returns the number of completions in the queue.
func (cq *CompletionQueue) Len() int { return int(cq.tail - cq.head) }

// isFull reports whether another completion would be lost.
func (cq *CompletionQueue) isFull() bool { return cq.tail-cq.head == cq.limit }

// OnEvent sets the function that RequestNotify arms.
func (cq *CompletionQueue) OnEvent(f func(*CompletionQueue)) { cq.onEvent = f }

// RequestNotify requests one call of the OnEvent function: at the next completion, or with
// solicitedOnly at the next solicited receive or error (ibv_req_notify_cq).
func (cq *CompletionQueue) RequestNotify(solicitedOnly bool) {
	if solicitedOnly && cq.armed != notifyAny {
		cq.armed = notifySolicited
		return
	}
	cq.armed = notifyAny
}

// next returns the entry for a new completion, whose fields the caller sets before it calls add;
// nil means that the queue is full and the completion is lost. The fields are written in place, one
// by one: a copy of a completion just written in pieces would wait until all of them have left the
// store buffer.
func (cq *CompletionQueue) next() *WorkCompletion {
	if cq.isFull() {
		if !cq.overrun {
			cq.overrun = true
			cq.ep.async(AsyncEvent{Kind: AsyncCQError, CQ: cq})
		}
		cq.ep.counters.CQOverruns++
		return nil
	}
	return &cq.ring[cq.tail&uint32(len(cq.ring)-1)]
}

// add adds the completion that next returned.
func (cq *CompletionQueue) add(wc *WorkCompletion, solicited bool) {
	wc.Solicited = solicited
	cq.tail++
	cq.ep.hasEvents = true
	if cq.armed != notifyNone &&
		(cq.armed == notifyAny || solicited || wc.Status != StatusSuccess) {
		cq.armed = notifyNone
		if cq.onEvent != nil {
			cq.onEvent(cq)
		}
	}
}

// set makes wc a completion with these fields, and zero in the others.
func (wc *WorkCompletion) set(id uint64, s Status, op Op, qp wire.QPN) {
	wc.ID, wc.Status, wc.Op = id, s, op
	wc.WithImm, wc.WithInv, wc.WithGRH, wc.V6 = false, false, false, false
	wc.ByteLen, wc.Imm, wc.QPN, wc.SrcQP = 0, 0, qp, 0
}

// ringSize returns the smallest power of two that holds n entries.
func ringSize(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}
