package perftest

import (
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiver reposts every receive when its message has arrived, and counts. With --work it processes
// a few messages in each round while others wait. It is the goroce.Program of the receiving end of
// SENDs and of WRITEs with immediate.
type receiver struct {
	queueSet *queueSet
	size     int
	cq       *transport.CompletionQueue
	wcs      [completions]transport.WorkCompletion
	streams  []inbound
	count    uint64
	meter    meter
	latest   units.Time
	check    *receiveCheck
	worker   *worker      // with --work
	cache    *carc.Sensor // with --carc
	halt     bool
	err      error
}

// inbound is the state of one queue pair of a receiver.
type inbound struct {
	qp       *transport.QueuePair
	receive  receive
	posted   int // receives, with --work
	received uint64
}

func (l *queueSet) newReceiver(size int) *receiver {
	s := l.settings
	r := &receiver{cq: l.recvCQ, streams: make([]inbound, len(l.pairs)),
		meter: newMeter(s.TxDepth * len(l.pairs))}
	for i := range l.pairs {
		r.streams[i] = inbound{qp: l.pairs[i].qp, receive: l.receive(i), posted: s.postedReceives()}
	}
	if s.Work > 0 {
		r.worker = l.newWorker()
	}
	if l.cache != nil {
		r.cache = l.cache.Sensor()
	}
	r.queueSet, r.size = l, size
	if s.Validate {
		r.check = &receiveCheck{queueSet: l, size: size}
	}
	return r
}

// Step implements goroce.Program.
func (r *receiver) Step(_ *transport.Endpoint, now units.Time) (busy, done bool) {
	n, came := r.reap(now)
	if r.cache != nil {
		r.cache.Polled(came == 0 && (r.worker == nil || r.worker.idle()), now)
	}
	if n > 0 && r.err == nil {
		if !r.meter.running {
			// Messages of the first round arrived before the clock started.
			r.meter.start(now, r.count+uint64(n))
		}
		r.count += uint64(n)
		r.latest = now
		r.meter.tick(now, r.count)
	}
	if r.err != nil || r.halt {
		if r.meter.running {
			r.meter.stop(r.latest, r.count)
		}
		return true, true
	}
	return n+came > 0, false
}

// reap handles the completions: came is how many messages arrived, n how many were processed.
func (r *receiver) reap(now units.Time) (n, came int) {
	for {
		some := r.cq.Poll(r.wcs[:])
		for i := range some {
			wc := &r.wcs[i]
			if wc.Status != transport.StatusSuccess {
				r.err = failure(r.cq, r.wcs[i:some])
				return n, came
			}
			came++
			if r.worker != nil {
				r.wait(wc, now)
			} else {
				n++
				r.consume(wc)
				r.post(wc.ID)
			}
			if r.err != nil {
				return n, came
			}
		}
		if some < len(r.wcs) {
			break
		}
	}
	if w := r.worker; w != nil {
		for until := w.clock().Add(workSlice); r.err == nil && !w.idle(); {
			n++
			if r.serve(); !w.clock().Before(until) {
				break
			}
		}
	}
	return n, came
}

// consume checks and counts a processed message.
func (r *receiver) consume(wc *transport.WorkCompletion) {
	in := &r.streams[r.queueSet.streamOf(wc)]
	if r.check != nil {
		if r.err = r.check.message(wc, in); r.err != nil {
			return
		}
	}
	in.received++
	if r.cache != nil {
		r.err = in.qp.Admission().Consumed(units.Bytes(wc.ByteLen))
	}
}

// post reposts the receive with the given work request ID.
func (r *receiver) post(id uint64) {
	if r.err != nil {
		return
	}
	in := &r.streams[id>>idShift]
	in.receive.place(int(id & idMask))
	r.err = r.queueSet.postTo(in.qp, &in.receive.request)
}

// wait enqueues a message for processing, and posts a free buffer in place of its own.
func (r *receiver) wait(wc *transport.WorkCompletion, now units.Time) {
	r.worker.push(wc, now)
	i := wc.ID >> idShift
	in, free := &r.streams[i], r.worker.free[i]
	if n := len(free); n > 0 {
		r.worker.free[i] = free[:n-1]
		r.post(i<<idShift | uint64(free[n-1]))
	} else {
		in.posted--
	}
}

// serve processes the next message and frees its buffer.
func (r *receiver) serve() {
	a := r.worker.pop()
	i, slot := a.wc.ID>>idShift, a.wc.ID&idMask
	in := &r.streams[i]
	message := r.queueSet.slot(int(i), in.received, r.size)
	if span := in.receive.span; r.queueSet.settings.Test.Verb == Send {
		message = r.queueSet.mr.Bytes()[r.queueSet.pairs[i].to+int(slot)%span.slots*
			span.stride:][:a.wc.ByteLen]
	}
	r.worker.work(message)
	r.consume(&a.wc)
	r.worker.done(a)
	if in.posted < r.queueSet.settings.postedReceives() {
		in.posted++
		r.post(a.wc.ID)
	} else {
		r.worker.free[i] = append(r.worker.free[i], uint32(slot))
	}
}

// receiveCheck validates data at a receiver, for --data_validation.
type receiveCheck struct {
	queueSet *queueSet
	size     int
}

// message checks a received message. With a shared receive queue it may lie in the memory of
// another queue pair.
func (c *receiveCheck) message(wc *transport.WorkCompletion, in *inbound) error {
	l := c.queueSet
	p, s := &l.pairs[l.streamOf(wc)], l.settings
	at := l.pairs[wc.ID>>idShift].to
	if s.Test.Verb == Send {
		at += int(wc.ID&idMask) % in.receive.span.slots * in.receive.span.stride
		want, skip := c.size, 0
		if s.Connection == transport.UD {
			want, skip = want+grh, grh
		}
		if int(wc.ByteLen) != want {
			return fmt.Errorf("data validation: queue pair %d, message %d: got %d bytes, want %d",
				p.number, in.received, int(wc.ByteLen)-skip, c.size)
		}
		at += skip
	} else {
		span := s.spanOf(c.size)
		at += int(in.received) % span.slots * span.stride
	}
	data := l.mr.Bytes()[at : at+c.size]
	if s.Connection != transport.RC {
		// Messages may be missing: accept the message's number unless it goes back.
		number, ok := messageOf(data)
		if !ok {
			return nil
		}
		if number < in.received {
			return &errPattern{qp: uint64(p.number), message: in.received, got: data[0],
				want: byte(in.received)}
		}
		in.received = number
	}
	return checkPattern(data, uint64(p.number), in.received)
}

// fillTargets initialises the memory open to the peer: the pattern for its READs, or zeros for its
// atomics and WRITEs.
func (l *queueSet) fillTargets(size int) {
	s := l.settings
	span := s.spanOf(size)
	for i := range l.pairs {
		p := &l.pairs[i]
		mem := l.mr.Bytes()[p.to : p.to+span.bytes()]
		switch {
		case s.Test.Verb == Read && s.Validate:
			for slot := range span.slots {
				fillPattern(mem[slot*span.stride:][:size], uint64(p.number), uint64(slot))
			}
		case s.Test.Verb != Send:
			clear(mem)
		}
	}
}

// checkTargets checks the memory that the peer has written after the test: each slot must hold the
// last message written to it. sent is the number of messages of each queue pair.
func (l *queueSet) checkTargets(size int, sent []uint64) error {
	s := l.settings
	span := s.spanOf(size)
	slots := uint64(span.slots)
	for i := range l.pairs {
		p := &l.pairs[i]
		n := sent[p.number]
		for message := n - min(n, slots); message < n; message++ {
			data := l.slot(i, message, size)
			expect := message
			if s.Connection == transport.UC {
				number, ok := messageOf(data)
				if !ok || number == 0 || number > message || number%slots != message%slots {
					continue // indistinguishable from a lost message
				}
				expect = number
			}
			if err := checkPattern(data, uint64(p.number), expect); err != nil {
				return err
			}
		}
	}
	return nil
}

// slot returns the memory of a peer's WRITE of a message.
func (l *queueSet) slot(i int, message uint64, size int) []byte {
	span := l.settings.spanOf(size)
	at := l.pairs[i].to + int(message%uint64(span.slots))*span.stride
	return l.mr.Bytes()[at : at+size]
}

func (p *pair) qpn() wire.QPN { return wire.QPN(p.peer.Num) }
