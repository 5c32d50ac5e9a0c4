package fabric

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/units"
)

// Queue says how one of the queues of a switch port works. The zero value is a lossy queue,
// served after all those of a higher number, that no threshold limits but the whole buffer.
type Queue struct {
	// Level orders the queues: a higher level is served before a lower one. 0 means the number of
	// the queue, and so strict priority. Queues of one level share it by Weight (deficit round
	// robin, Shreedhar and Varghese, SIGCOMM 1995); 0 means 1.
	Level, Weight int

	// Lossless makes the switch pause who sends into this queue before it must drop.
	Lossless bool

	// Alpha is the share of the free shared buffer that a lossy queue, or a lossless queue's
	// frames from one port, may take (Choudhury and Hahne, ToN 1998). 0 means no such limit.
	Alpha float64
	// Limit is a fixed limit: the length of a lossy queue, or what a lossless one may hold from one
	// port until it is paused (XOFF). 0 means none.
	Limit units.Bytes
	// Egress is the share of the free shared buffer that a lossless queue may hold in all, whoever
	// sent it: the threshold of its egress port, as Broadcom's chips have it. What exceeds it is
	// dropped, and nobody is paused, but for frames that go into headroom. 0 means no such limit.
	Egress float64
	// Resume is how far what a port's frames take must sink below the threshold before it goes on
	// (XON).
	Resume units.Bytes
	// Headroom is kept for each port, for what still comes after a pause; see [Headroom].
	Headroom units.Bytes
	// Reserve is kept for the queue's frames from each port.
	Reserve units.Bytes

	ECN ECN
	// ECNOf is that of frames of some DSCPs, in place of ECN: one queue that marks priorities at
	// lengths of their own (PrioPlus, appendix B).
	ECNOf map[uint8]ECN
	Bolt  Bolt

	// SelectiveDrop drops IP packets that do not take part in ECN when this much waits (Aeolus:
	// unscheduled packets). 0 means never.
	SelectiveDrop units.Bytes
	// Trim cuts frames that find this much waiting to their headers and puts those into the queue
	// TrimTo, here and at every switch behind (NDP). 0 means never. Headers have the DSCP TrimDSCP
	// from then on, which tells them from packets that are broken; 0 leaves the DSCP alone. With
	// TrimNewest a coin decides whether it is the arriving frame that is cut or the newest of those
	// that wait, whose place the other takes (NDP, SIGCOMM 2017).
	Trim       units.Bytes
	TrimTo     int
	TrimDSCP   uint8
	TrimNewest bool

	// Share limits the queue to a share of the link, in bytes on the wire: the token queue of
	// receiver-driven congestion control, which has a level of its own. 0 means no limit. Burst is
	// how many frames may leave together after a pause; 0 means 2. Queues with the same Group,
	// unless that is 0, have one limit together, in strict priority: tokens of several priorities
	// (ToCC, section VII).
	Share float64
	Burst int
	Group int
}

// ECN is when a queue marks congestion experienced: never below Kmin, with a probability that
// grows to Pmax at Kmax, and always from there on (RED, Floyd and Jacobson, ToN 1993, on the
// instantaneous length). Kmin = Kmax is DCTCP's step. Kmax 0 marks nothing.
type ECN struct {
	Kmin, Kmax units.Bytes
	Pmax       float64
	// AtDequeue looks at the queue when the frame leaves it, not when it comes.
	AtDequeue bool
}

// probability of a mark at a length of the queue.
func (e *ECN) probability(length units.Bytes) float64 {
	switch {
	case e.Kmax == 0 || length < e.Kmin:
		return 0
	case length >= e.Kmax:
		return 1
	}
	return e.Pmax * float64(length-e.Kmin) / float64(e.Kmax-e.Kmin)
}

func (q *Queue) validate() error {
	switch {
	case q.Alpha < 0 || q.Egress < 0 || q.Limit < 0 || q.Headroom < 0 || q.Reserve < 0 ||
		q.Resume < 0 || q.Trim < 0 || q.SelectiveDrop < 0:
		return fmt.Errorf("a negative threshold in %+v", *q)
	case q.Egress > 0 && !q.Lossless:
		return errors.New("the egress threshold of a lossy queue is its α")
	case q.Weight < 0 || q.Level < 0 || q.Burst < 0 || q.Group < 0:
		return fmt.Errorf("a negative level, weight, burst or group in %+v", *q)
	case q.Group > 0 && q.Share == 0:
		return fmt.Errorf("group %d without a share of the link", q.Group)
	case q.TrimTo < 0 || q.TrimTo >= MaxQueues:
		return fmt.Errorf("trimmed frames cannot go into queue %d", q.TrimTo)
	case q.TrimDSCP > 63:
		return fmt.Errorf("trimmed frames cannot have a DSCP of %d", q.TrimDSCP)
	case !(q.Share >= 0 && q.Share <= 1):
		return fmt.Errorf("a share of the link of %v is not in 0..1", q.Share)
	}
	if err := q.ECN.validate(); err != nil {
		return err
	}
	for dscp, e := range q.ECNOf {
		if err := e.validate(); err != nil {
			return fmt.Errorf("DSCP %d: %w", dscp, err)
		}
	}
	return q.Bolt.validate()
}

func (e *ECN) validate() error {
	if e.Kmin < 0 || e.Kmin > e.Kmax || !(e.Pmax >= 0 && e.Pmax <= 1) {
		return fmt.Errorf(
			"ECN thresholds %d and %d with Pmax %v: Kmin must not exceed Kmax, Pmax is in 0..1",
			int64(e.Kmin), int64(e.Kmax), e.Pmax)
	}
	return nil
}

// ecn is what marks a frame.
func (q *Queue) ecn(f *frame) ECN {
	if e, own := q.ECNOf[f.dscp]; own {
		return e
	}
	return q.ECN
}

// Queues is a configuration of all queues that does not depend on the rate of the port.
type Queues [MaxQueues]Queue

// At makes it what SwitchConfig asks for.
func (q Queues) At() func(units.BitRate) Queues { return func(units.BitRate) Queues { return q } }

// queue is a queue of a port at work.
type queue struct {
	frameList
	bytes   units.Bytes // stored
	count   int32
	weight  int64
	deficit int64
	limit   *limit // nil: none but the link
	config  *Queue
	bolt    bolt
	stats   QueueStats
	watch   []func(units.Time, units.Bytes)
}

// QueueStats counts what happened in one queue of one port.
type QueueStats struct {
	Frames, Bytes uint64 // that left; bytes with check sequence, without preamble and gap
	Marked        uint64
	// no room: lossy threshold, buffer full, headroom or egress threshold exceeded
	Dropped      uint64
	DroppedBytes uint64
	Refused      uint64 // frames that came in by this port and were Dropped, in whatever queue
	Selected     uint64 // dropped because not ECN capable
	Trimmed      uint64
	Congested    uint64 // by Bolt: packets that found a queue, and none before
	Reported     uint64 // of these: to their senders
	Granted      uint64 // by Bolt: packets that kept their wish for one packet more
	Denied       uint64 // and that did not
	Longest      units.Bytes
	PausesSent   uint64 // to who sends to this port
	PausesHeard  uint64
	Paused       units.Duration // how long the port was not to send
}
