package engine

import (
	"slices"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// eventKinds are enum ibv_event_type by the transport's.
var eventKinds = [...]uint32{transport.AsyncCQError: 0, transport.AsyncQPFatal: 1,
	transport.AsyncQPReqErr: 2, transport.AsyncQPAccessErr: 3, transport.AsyncCommEst: 4,
	transport.AsyncSQDrained: 5, transport.AsyncSRQLimit: 15, transport.AsyncLastWQEReached: 16}

// dispatch sends an event of the endpoint to the session whose object it is about.
func (e *Engine) dispatch(ev *transport.AsyncEvent) {
	kind := eventKinds[ev.Kind]
	switch {
	case ev.QP != nil:
		o, ok := ev.QP.Context.(*queuePair)
		if ok && (ev.Kind != transport.AsyncSQDrained || o.attr.SQDNotify != 0) {
			o.session.notify(kind, o.cookie)
		}
	case ev.SRQ != nil:
		if o := e.srqs[ev.SRQ]; o != nil {
			o.limit = 0
			o.session.notify(kind, o.cookie)
		}
	case ev.CQ != nil:
		if o := e.cqs[ev.CQ]; o != nil {
			o.session.notify(kind, o.cookie)
		}
	}
}

// notify sends an asynchronous event to the program, or keeps it while its socket is full.
func (s *Session) notify(kind uint32, cookie uint64) {
	if len(s.pending) < maxPending {
		s.pending = append(s.pending, protocol.Event{Kind: kind, Cookie: cookie})
	}
	s.sendPending()
}

func (s *Session) sendPending() {
	for len(s.pending) > 0 {
		message, err := protocol.AppendEvent(nil, s.pending[0])
		if err == nil && !notify(s.events, message) {
			return
		}
		s.pending = slices.Delete(s.pending, 0, 1)
	}
}

// detach removes the session from what the polling core looks at.
func (e *Engine) detach(s *Session) {
	e.attached = slices.DeleteFunc(e.attached, func(o *Session) bool { return o == s })
}
