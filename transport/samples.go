package transport

import (
	"math"
	"net/netip"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Samples are what monitors read of an endpoint. A monitor copies them on the polling core and
// evaluates the copy elsewhere.

// QPSample is the state of a queue pair at one time.
type QPSample struct {
	Num       wire.QPN
	Type      QPType
	State     State
	Peer      netip.Addr // not valid before RTR, nor for UD
	PeerNum   wire.QPN   // 0 before RTR
	Algorithm string     // cc.NameOf
	Unacked   units.Bytes
	InFlight  units.Bytes
	Timer     bool // a timer of it is set
	QPStats
	AdmissionTotals
}

// AdmissionTotals is what gates, and what granters counted, together.
type AdmissionTotals struct{ Gates, Granters cc.AdmissionCounts }

// FirstSlot is where a walk with Samples begins.
const FirstSlot = math.MaxInt

// maxSlots is how many slots of the table of queue pairs one call of Samples reads.
const maxSlots = 1024

// Samples fills into with samples of queue pairs, and returns how many. A walk over all of them
// begins at FirstSlot and continues at next until that is 0. Between two calls the endpoint may be
// polled: a queue pair that is created or destroyed, or whose table grows meanwhile, may be left
// out. None is sampled twice.
func (e *Endpoint) Samples(into []QPSample, slot int) (n, next int) {
	// Downward: when the table grows, queue pairs move to higher slots only.
	slot = min(slot, len(e.qps.slots))
	for end := max(0, slot-maxSlots); slot > end && n < len(into); slot-- {
		if qp := e.qps.slots[slot-1]; qp != nil {
			qp.sample(&into[n])
			n++
		}
	}
	return n, slot
}

func (qp *QueuePair) sample(s *QPSample) {
	*s = QPSample{Num: qp.Num, Type: qp.Type, State: qp.state,
		Algorithm: qp.cong.cold().retired.Algorithm, QPStats: qp.Stats(),
		Unacked: qp.snd.unackedBytes(), InFlight: qp.loss.flight(),
		Timer: qp.ep.timers.IsSet(uint32(qp.cong.flowID()))}
	if qp.Type != UD && qp.state >= ReadyToReceive {
		s.Peer, s.PeerNum = qp.tmpl.Dst(), qp.dest
	}
	qp.adm.addTo(&s.AdmissionTotals)
}

// addTo adds what its gates and granters counted.
func (a *admission) addTo(t *AdmissionTotals) {
	if a == nil {
		return
	}
	for _, g := range cc.Parts(a.gate) {
		addCounts(&t.Gates, g)
	}
	addCounts(&t.Granters, a.granter)
	addCounts(&t.Granters, a.credits.granter)
}

func addCounts(t *cc.AdmissionCounts, counter any) {
	if c, ok := counter.(cc.AdmissionCounter); ok {
		counts := c.AdmissionCounts()
		t.Add(&counts)
	}
}

// Retired is what the queue pairs with one algorithm counted that have been destroyed.
type Retired struct {
	Algorithm string
	QPCounters
	Cuts    [cc.Reasons]uint64
	Ignored uint64
}

// EndpointSample is the state of an endpoint at one time, without that of its queue pairs.
type EndpointSample struct {
	Stats
	Neighbors  neigh.Counters
	Management rdmacm.Counters // of the RDMA CM; zero without one
	Retired    []Retired       // of queue pairs
	Ended      AdmissionTotals // of connections
}

// Sample writes the state of the endpoint to s. It reuses the memory of s.
func (e *Endpoint) Sample(s *EndpointSample) {
	s.Stats, s.Neighbors, s.Ended = e.Stats(), e.neighbors.Counters(), e.admissions
	s.Management = rdmacm.Counters{}
	if e.gsi != nil {
		s.Management = e.gsi.machine.Counters()
	}
	s.Retired = s.Retired[:0]
	for _, r := range e.retired {
		s.Retired = append(s.Retired, *r)
	}
}

// retiredOf returns the totals of an algorithm. There are as many as algorithms.
func (e *Endpoint) retiredOf(algorithm string) *Retired {
	for _, r := range e.retired {
		if r.Algorithm == algorithm {
			return r
		}
	}
	r := &Retired{Algorithm: algorithm}
	e.retired = append(e.retired, r)
	return r
}

// retire adds what a queue pair counted to the totals of its algorithm, before it is destroyed.
func (qp *QueuePair) retire() {
	s, r := qp.Stats(), qp.cong.cold().retired
	r.QPCounters.Add(&s.QPCounters)
	for i, n := range s.Congestion.Cuts {
		r.Cuts[i] += n
	}
	r.Ignored += s.Congestion.Ignored
}

// retire adds what its gates and granters counted to the totals of the endpoint, before they are
// detached.
func (a *admission) retire() { a.addTo(&a.qp.ep.admissions) }

// Add adds o.
func (c *QPCounters) Add(o *QPCounters) {
	c.PacketsSent += o.PacketsSent
	c.BytesSent += o.BytesSent
	c.Retransmitted += o.Retransmitted
	c.Timeouts += o.Timeouts
	c.SequenceNaks += o.SequenceNaks
	c.RNRNaks += o.RNRNaks
	c.CNPs += o.CNPs
	c.MarkedCE += o.MarkedCE
	c.DuplicateRequests += o.DuplicateRequests
	c.PacketsReceived += o.PacketsReceived
	c.BytesIn += o.BytesIn
}
