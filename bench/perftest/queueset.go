package perftest

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

const (
	udQKey     = 0x11111111
	rnrTimer   = 12 // 0.64 ms, the value of perftest
	rnrRetry   = 7  // without limit
	signalRoom = 2  // spare queue entries for a program that runs slightly ahead
)

// access is the permission of the peer through a queue pair of the test.
const access = transport.LocalWrite | transport.RemoteWrite | transport.RemoteRead |
	transport.RemoteAtomic

// queueSet is the part of a test on one endpoint: some of the queue pairs, and their memory.
type queueSet struct {
	host     *goroce.Host
	index    int // of the endpoint
	settings *Settings
	flowSeed uint32 // base of the flows' seeds

	pd             *transport.ProtectionDomain
	memory         []byte
	mr             *transport.MemoryRegion
	shared         *transport.SharedReceiveQueue // with --use-srq
	numbers        map[wire.QPN]int              // indices of the pairs, with --use-srq
	sendCQ, recvCQ *transport.CompletionQueue
	ah             *transport.AddressHandle // UD
	offer          wire.Offer               // of the extension
	tokens         *tocc.Endpoint           // with --tocc
	cache          *carc.Endpoint           // with --carc
	pairs          []pair
	// longest gap between polls since the size run began, as far as read
	longest units.Duration
}

// pair is a queue pair and the peer's description of the other end.
type pair struct {
	number   int // among all queue pairs of the run
	qp       *transport.QueuePair
	psn      uint32
	from, to int // offsets in the region of the memory to send from and to receive into
	peer     connect.QP
	region   connect.Region
}

// do runs f on the endpoint's core.
func (l *queueSet) do(f func(*transport.Endpoint) error) error {
	var failure error
	if err := l.host.Do(l.index, func(ep *transport.Endpoint) { failure = f(ep) }); err != nil {
		return err
	}
	return failure
}

// create makes the queue pairs with the given numbers.
func (l *queueSet) create(numbers []int) error {
	s := l.settings
	each, _ := s.layout()
	if err := l.allocate(2 * each * len(numbers)); err != nil {
		return err
	}
	return l.do(func(ep *transport.Endpoint) (err error) {
		l.pd, l.offer = ep.AllocPD(), ep.Setup().Offer()
		speaks := wire.Features(0)
		if s.Tokens != nil {
			l.tokens, speaks = s.Tokens.Endpoint(), wire.FeatureToken
			l.offer.Features |= speaks
		}
		l.openCache()
		depth := l.sendDepth()
		if l.sendCQ, err = ep.CreateCQ(depth * len(numbers)); err != nil {
			return err
		}
		if l.recvCQ, err = ep.CreateCQ(max(1, s.receiveDepth()*len(numbers))); err != nil {
			return err
		}
		if l.mr, err = ep.RegisterMemory(l.pd, l.memory, access); err != nil {
			return err
		}
		if s.SharedReceive {
			if l.shared, err = ep.CreateSRQ(l.pd, s.RxDepth, 1); err != nil {
				return err
			}
			l.numbers = map[wire.QPN]int{}
		}
		for i, number := range numbers {
			hoped := wire.Agreement{Features: l.offer.Features}
			if s.CM {
				hoped.Features = 0 // the CM's messages have no field for an offer
			}
			algorithm, err := l.algorithm(number, l.path(hoped, ep.Query().PathMTU))
			if err != nil {
				return err
			}
			qp, err := ep.CreateQP(transport.QPInit{
				Type: s.Connection, PD: l.pd, SendCQ: l.sendCQ, RecvCQ: l.recvCQ,
				MaxSendWR: depth, MaxRecvWR: s.receiveDepth(), MaxInline: s.Inline,
				SRQ: l.shared, Algorithm: algorithm,
			})
			if err != nil {
				return err
			}
			if !s.connectsByCM() { // the CM requires RESET, also after a refusal
				if err := qp.Modify(transport.Init, initAttr()); err != nil {
					return err
				}
			}
			if l.shared != nil {
				l.numbers[qp.Num] = i
			}
			at := 2 * each * i
			p := pair{number: number, qp: qp, psn: ep.Setup().RandomPSN(), from: at, to: at + each}
			l.offer.Features &= qp.Offer().Features | speaks
			l.pairs = append(l.pairs, p)
		}
		return l.offerCredits(ep)
	})
}

// sendDepth returns the length of the send queues. In a latency test the last message's ACK may
// still be outstanding when the next message is posted.
func (l *queueSet) sendDepth() int {
	if l.settings.Test.Kind == Latency {
		return max(l.settings.TxDepth, 8)
	}
	return l.settings.TxDepth
}

// hello adds the queue pairs to the Hello for the peer, each at its number.
func (l *queueSet) hello(h *connect.Hello) {
	each, _ := l.settings.layout()
	h.Extension = l.offer // the same for all endpoints
	for _, p := range l.pairs {
		h.QPs[p.number] = connect.QP{Num: uint32(p.qp.Num), PSN: p.psn}
		h.Regions[p.number] = connect.Region{Addr: l.mr.Addr + uint64(p.to), Len: uint64(each),
			RKey: l.mr.RKey}
	}
}

// connect connects the queue pairs to the peer's, unless the RDMA CM has done so, and posts their
// receives.
func (l *queueSet) connect(mine, theirs *connect.Hello) error {
	s := l.settings
	path := transport.AddressVector{IP: theirs.Addr, Source: mine.Addr,
		TrafficClass: uint8(s.TrafficClass), FlowLabel: uint32(s.FlowLabel),
		HopLimit: uint8(s.HopLimit)}
	return l.do(func(ep *transport.Endpoint) (err error) {
		if s.Connection == transport.UD {
			if l.ah, err = ep.CreateAH(l.pd, path); err != nil {
				return err
			}
		}
		for i := range l.pairs {
			p := &l.pairs[i]
			p.peer, p.region = theirs.QPs[p.number], theirs.Regions[p.number]
			if !s.connectsByCM() {
				if err := l.bringUp(p, path, mine, theirs); err != nil {
					return err
				}
			}
			if s.usesReceives() {
				if err := l.postReceives(i); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// initAttr returns the attributes of every queue pair in INIT.
func initAttr() transport.QPAttr { return transport.QPAttr{Access: access, QKey: udQKey} }

// bringUp moves a queue pair to RTS.
func (l *queueSet) bringUp(p *pair, path transport.AddressVector,
	mine, theirs *connect.Hello) error {
	s, mtu, agreed := l.settings, units.Bytes(min(mine.PathMTU, theirs.PathMTU)),
		wire.Agree(mine.Extension, theirs.Extension)
	attr, err := initAttr(), error(nil)
	if attr.Algorithm, err = l.algorithm(p.number, l.path(agreed, mtu)); err != nil {
		return err
	}
	if attr.Gate, attr.Granters, err = l.admission(p, agreed, mtu); err != nil {
		return err
	}
	if err := p.qp.Modify(transport.Init, attr); err != nil {
		return err
	}
	err = p.qp.Modify(transport.ReadyToReceive, transport.QPAttr{
		Path: path, PathMTU: mtu, DestQPN: wire.QPN(p.peer.Num), RecvPSN: wire.PSN(p.peer.PSN),
		MaxDestRdAtomic: mine.RdAtomic,
		AnswerClass:     uint8(s.AnswerClass), MinRNRTimer: rnrTimer, Extension: agreed,
	})
	if err != nil {
		return err
	}
	return p.qp.Modify(transport.ReadyToSend, transport.QPAttr{
		SendPSN: wire.PSN(p.psn), Timeout: uint8(s.QPTimeout), RetryCount: uint8(s.RetryCount),
		RNRRetry:    rnrRetry,
		MaxRdAtomic: min(mine.RdAtomic, theirs.RdAtomic),
	})
}

// usesReceives reports whether messages of the test consume receives.
func (s *Settings) usesReceives() bool { return s.Test.Verb == Send || s.WriteWithImm }

// receiveDepth returns the length of the receive queues.
func (s *Settings) receiveDepth() int {
	if !s.usesReceives() {
		return 0
	}
	return s.RxDepth
}

// postReceives fills the receive queue of pair i.
func (l *queueSet) postReceives(i int) error {
	s, p := l.settings, &l.pairs[i]
	rr, n := l.receive(i), s.postedReceives()
	if l.shared != nil {
		n = min(n, (s.RxDepth-i+len(l.pairs)-1)/len(l.pairs)) // the pair's part of --rx-depth
	}
	for slot := range n {
		rr.place(slot)
		if err := l.postTo(p.qp, &rr.request); err != nil {
			return err
		}
	}
	return nil
}

// postTo posts a receive to the shared queue, or to that of a queue pair.
func (l *queueSet) postTo(qp *transport.QueuePair, rr *transport.RecvRequest) error {
	if l.shared != nil {
		return l.shared.PostRecv(rr)
	}
	return qp.PostRecv(rr)
}

// postedReceives returns how many receives each queue pair has posted.
func (s *Settings) postedReceives() int {
	_, receives := s.layout()
	if s.Work > 0 && s.Test.Verb == Send && s.Test.Kind == Bandwidth {
		return min(s.RxDepth, workPosted)
	}
	if s.Validate && s.Test.Verb == Send {
		return min(s.RxDepth, receives.slots)
	}
	return s.RxDepth
}

// receive is a receive request that is posted repeatedly.
type receive struct {
	request transport.RecvRequest
	sge     []transport.SGE
	stream  uint64
	addr    uint64
	span    span
}

func (l *queueSet) receive(i int) receive {
	p := &l.pairs[i]
	_, receives := l.settings.layout()
	r := receive{sge: []transport.SGE{l.mr.SGE(p.to, receives.stride)}, stream: uint64(i),
		span: receives}
	r.addr = r.sge[0].Addr
	r.request.SGList = r.sge
	return r
}

// place directs the request to a slot. The work request ID identifies the slot.
func (r *receive) place(slot int) {
	r.sge[0].Addr = r.addr + uint64(slot%r.span.slots*r.span.stride)
	r.request.ID = r.stream<<idShift | uint64(slot)
}

// Work request IDs: the stream in the upper bits, the message or slot in the lower.
const (
	idShift = 48
	idMask  = 1<<idShift - 1
)

// errFlushed is used if only flushed completions are known.
var errFlushed = errors.New("the queue pair was shut down")

// failure returns the cause of an error completion. Further completions in the queue may be more
// specific: requests before the failed one are flushed first.
func failure(cq *transport.CompletionQueue, wcs []transport.WorkCompletion) error {
	for {
		for _, wc := range wcs {
			if wc.Status != transport.StatusSuccess && wc.Status != transport.StatusWRFlushErr {
				return fmt.Errorf("QP %#06x: %v", uint32(wc.QPN), wc.Status)
			}
		}
		n := cq.Poll(wcs[:cap(wcs)])
		if n == 0 {
			return errFlushed
		}
		wcs = wcs[:n]
	}
}
