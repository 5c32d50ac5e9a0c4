package transport

import "github.com/goroce/goroce/transport/wire"

// outstandingReads has the end of each outstanding READ or atomic request, oldest first. What is
// requested again is requested in the same pieces: then the responder recognises each as a
// duplicate of one request, and never has more than max_rd_atomic of them to answer. A nil
// *outstandingReads has room for none.
type outstandingReads struct {
	ends []wire.PSN // a ring
	head uint32
	n    uint32
}

func newOutstandingReads(limit int) *outstandingReads {
	if limit == 0 {
		return nil
	}
	return &outstandingReads{ends: make([]wire.PSN, limit)}
}

// limit returns how many requests may be outstanding.
func (o *outstandingReads) limit() int {
	if o == nil {
		return 0
	}
	return len(o.ends)
}

func (o *outstandingReads) isEmpty() bool { return o == nil || o.n == 0 }

func (o *outstandingReads) isFull() bool { return o == nil || int(o.n) == len(o.ends) }

func (o *outstandingReads) clear() {
	if o != nil {
		o.head, o.n = 0, 0
	}
}

func (o *outstandingReads) at(i uint32) wire.PSN {
	return o.ends[(o.head+i)%uint32(len(o.ends))]
}

// add adds a request whose last response is the packet before end.
func (o *outstandingReads) add(end wire.PSN) {
	o.ends[(o.head+o.n)%uint32(len(o.ends))] = end
	o.n++
}

// removeBefore removes the requests whose responses all came before una.
func (o *outstandingReads) removeBefore(una wire.PSN) {
	for !o.isEmpty() && !o.at(0).After(una) {
		o.head = (o.head + 1) % uint32(len(o.ends))
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
