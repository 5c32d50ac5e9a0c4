package transport

import "github.com/goroce/goroce/transport/wire"

// outstandingReads has the end of each outstanding READ or atomic request, oldest first. What is
// requested again is requested in the same pieces: then the responder recognises each as a
// duplicate of one request, and never has more than max_rd_atomic of them to answer. A nil
// *outstandingReads has room for none.
type outstandingReads struct {
	ends []wire.PSN // a ring, of max_rd_atomic from the first request on
	max  uint32
	head uint32
	n    uint32
}

func newOutstandingReads(limit int) *outstandingReads {
	if limit == 0 {
		return nil
	}
	return &outstandingReads{max: uint32(limit)}
}

// limit returns how many requests may be outstanding.
func (o *outstandingReads) limit() int {
	if o == nil {
		return 0
	}
	return int(o.max)
}

func (o *outstandingReads) isEmpty() bool { return o == nil || o.n == 0 }

func (o *outstandingReads) isFull() bool { return o == nil || o.n == o.max }

func (o *outstandingReads) clear() {
	if o != nil {
		o.head, o.n = 0, 0
	}
}

func (o *outstandingReads) at(i uint32) wire.PSN {
	return o.ends[(o.head+i)%o.max]
}

// add adds a request whose last response is the packet before end.
func (o *outstandingReads) add(end wire.PSN) {
	if o.ends == nil {
		o.ends = make([]wire.PSN, o.max)
	}
	o.ends[(o.head+o.n)%o.max] = end
	o.n++
}

// removeBefore removes the requests whose responses all came before una.
func (o *outstandingReads) removeBefore(una wire.PSN) {
	for !o.isEmpty() && !o.at(0).After(una) {
		o.head = (o.head + 1) % o.max
		o.n--
	}
}

// end returns the end of the outstanding request that contains psn.
func (o *outstandingReads) end(psn wire.PSN) wire.PSN {
	for i := uint32(0); o != nil && i < o.n; i++ {
		if end := o.at(i); end.After(psn) {
			return end
		}
	}
	return psn.Add(1) // unreachable: psn is outstanding
}
