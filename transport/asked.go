package transport

import "github.com/goroce/goroce/transport/wire"

// asked remembers where each outstanding READ or atomic request ends, oldest first. What is asked
// again is asked in the same pieces: the responder then recognises each as a duplicate of one
// request, and never has more than max_rd_atomic of them to answer.
type asked struct {
	ends []wire.PSN // a ring
	head uint32
	n    uint32
}

func (a *asked) size(n int) { *a = asked{ends: make([]wire.PSN, n)} }

func (a *asked) clear() { a.head, a.n = 0, 0 }

func (a *asked) full() bool { return int(a.n) == len(a.ends) }

func (a *asked) at(i uint32) wire.PSN { return a.ends[(a.head+i)%uint32(len(a.ends))] }

// add notes a request whose last response is the packet before end.
func (a *asked) add(end wire.PSN) {
	a.ends[(a.head+a.n)%uint32(len(a.ends))] = end
	a.n++
}

// answered forgets the requests that una has passed.
func (a *asked) answered(una wire.PSN) {
	for a.n > 0 && !a.at(0).After(una) {
		a.head = (a.head + 1) % uint32(len(a.ends))
		a.n--
	}
}

// end answers where the outstanding request that holds psn ends.
func (a *asked) end(psn wire.PSN) wire.PSN {
	for i := range a.n {
		if end := a.at(i); end.After(psn) {
			return end
		}
	}
	return psn.Add(1) // cannot be: psn is outstanding
}
