package transport

import "fmt"

// AsyncKind is the kind of an AsyncEvent (ibv_event_type).
type AsyncKind uint8

// The asynchronous events.
const (
	AsyncQPFatal        AsyncKind = iota // the queue pair entered the error state by itself
	AsyncQPReqErr                        // the peer sent an invalid request
	AsyncQPAccessErr                     // the peer violated a key, bound or permission
	AsyncCommEst                         // first packet on a queue pair in RTR
	AsyncSQDrained                       // nothing outstanding after SQD
	AsyncLastWQEReached                  // a queue pair on an SRQ takes no more receives from it
	AsyncSRQLimit                        // fewer receives than the armed limit
	AsyncCQError                         // a completion queue overran
)

func (k AsyncKind) String() string {
	names := [...]string{"QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST", "SQ_DRAINED",
		"QP_LAST_WQE_REACHED", "SRQ_LIMIT_REACHED", "CQ_ERR"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("AsyncKind(%d)", uint8(k))
}

// AsyncEvent is an event that belongs to no work request (ibv_async_event).
type AsyncEvent struct {
	Kind AsyncKind
	QP   *QueuePair
	CQ   *CompletionQueue
	SRQ  *SharedReceiveQueue
}

// PollAsync removes and returns the oldest asynchronous event (ibv_get_async_event, without
// waiting).
func (e *Endpoint) PollAsync() (AsyncEvent, bool) {
	if len(e.asyncs) == 0 {
		return AsyncEvent{}, false
	}
	ev := e.asyncs[0]
	e.asyncs = append(e.asyncs[:0], e.asyncs[1:]...)
	return ev, true
}

func (e *Endpoint) async(ev AsyncEvent) {
	if len(e.asyncs) == maxAsyncPending {
		e.counters.AsyncLost++
		return
	}
	e.asyncs = append(e.asyncs, ev)
	e.hasEvents = true
}
