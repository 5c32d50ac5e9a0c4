package perftest

import (
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiver posts every receive again as soon as its message has come, and counts; with --work it
// works on a few messages in a round, and others wait. It is the goroce.Program at the far end of
// SENDs and of WRITEs with immediate.
type receiver struct {
	lane    *lane
	size    int
	cq      *transport.CompletionQueue
	wcs     [completions]transport.WorkCompletion
	streams []inbound
	count   uint64
	meter   meter
	latest  units.Time
	check   *receiveCheck
	worker  *worker      // with --work
	cache   *carc.Sensor // with --carc
	halt    bool
	err     error
}

// inbound is one queue pair's part of a receiver.
type inbound struct {
	qp       *transport.QueuePair
	receive  receive
	posted   int // receives, where the program works
	received uint64
}

func (l *lane) newReceiver(size int) *receiver {
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
	r.lane, r.size = l, size
	if s.Validate {
		r.check = &receiveCheck{lane: l, size: size}
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
			// What has come with the first round came before the clock ran.
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

// reap takes the completions: came is how many messages they are, n how many the program is done
// with.
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

// consume takes note of a message that the program is done with.
func (r *receiver) consume(wc *transport.WorkCompletion) {
	in := &r.streams[wc.ID>>idShift]
	if r.check != nil {
		if r.err = r.check.message(int(wc.ID>>idShift), wc, in); r.err != nil {
			return
		}
	}
	in.received++
	if r.cache != nil {
		r.err = in.qp.Consumed(units.Bytes(wc.ByteLen))
	}
}

// post posts the receive of an identifier again.
func (r *receiver) post(id uint64) {
	if r.err != nil {
		return
	}
	in := &r.streams[id>>idShift]
	in.receive.place(int(id & idMask))
	r.err = in.qp.PostRecv(&in.receive.request)
}

// wait has a message wait for its turn, and posts a buffer in place of its own.
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

// serve works on the message whose turn it is, and has its buffer back.
func (r *receiver) serve() {
	a := r.worker.pop()
	i, slot := a.wc.ID>>idShift, a.wc.ID&idMask
	in := &r.streams[i]
	message := r.lane.slot(int(i), in.received, r.size)
	if span := in.receive.span; r.lane.settings.Test.Verb == Send {
		message = r.lane.mr.Bytes()[r.lane.pairs[i].to+int(slot)%span.slots*
			span.stride:][:a.wc.ByteLen]
	}
	r.worker.work(message)
	r.consume(&a.wc)
	r.worker.done(a)
	if in.posted < r.lane.settings.postedReceives() {
		in.posted++
		r.post(a.wc.ID)
	} else {
		r.worker.free[i] = append(r.worker.free[i], uint32(slot))
	}
}

// receiveCheck is --data_validation at a receiver.
type receiveCheck struct {
	lane *lane
	size int
}

// message looks at one that has just come.
func (c *receiveCheck) message(i int, wc *transport.WorkCompletion, in *inbound) error {
	l, p := c.lane, &c.lane.pairs[i]
	s := l.settings
	at := p.to
	if s.Test.Verb == Send {
		at += int(wc.ID&idMask) % in.receive.span.slots * in.receive.span.stride
		want, skip := c.size, 0
		if s.Connection == transport.UD {
			want, skip = want+grh, grh
		}
		if int(wc.ByteLen) != want {
			return fmt.Errorf("data validation: queue pair %d, message %d has %d bytes, not %d",
				p.number, in.received, int(wc.ByteLen)-skip, c.size)
		}
		at += skip
	} else {
		span := s.spanOf(c.size)
		at += int(in.received) % span.slots * span.stride
	}
	data := l.mr.Bytes()[at : at+c.size]
	if s.Connection != transport.RC {
		// Messages may be missing: take it at its word, unless it goes back.
		said, ok := messageOf(data)
		if !ok {
			return nil
		}
		if said < in.received {
			return &errPattern{qp: uint64(p.number), message: in.received, got: data[0],
				want: byte(in.received)}
		}
		in.received = said
	}
	return checkPattern(data, uint64(p.number), in.received)
}

// fillTargets lays out what the peer will READ, or the zero that its atomics begin with and its
// WRITEs cover, in the memory that is open to it.
func (l *lane) fillTargets(size int) {
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

// checkTargets looks at what lies where the peer has written, after all is done: in each slot the
// last message of those that went there. sent is how many each queue pair sent.
func (l *lane) checkTargets(size int, sent []uint64) error {
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
				said, ok := messageOf(data)
				if !ok || said == 0 || said > message || said%slots != message%slots {
					continue // nothing that could be told from a lost message
				}
				expect = said
			}
			if err := checkPattern(data, uint64(p.number), expect); err != nil {
				return err
			}
		}
	}
	return nil
}

// slot is where a peer's WRITE of a message lies.
func (l *lane) slot(i int, message uint64, size int) []byte {
	span := l.settings.spanOf(size)
	at := l.pairs[i].to + int(message%uint64(span.slots))*span.stride
	return l.mr.Bytes()[at : at+size]
}

func (p *pair) qpn() wire.QPN { return wire.QPN(p.peer.Num) }
