package fabric

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/units"
)

// Queue configures a queue of a switch port. The zero value is a lossy queue, limited by the whole
// buffer only and served after all queues with a higher number.
type Queue struct {
	// Level is the priority of the queue: a higher level is served before a lower one. 0 means the
	// number of the queue, that is strict priority. Queues of one level share the link by Weight
	// (deficit round robin, Shreedhar and Varghese, SIGCOMM 1995); Weight 0 means 1.
	Level, Weight int

	// Lossless makes the switch pause the senders of this queue before it has to drop.
	Lossless bool

	// Alpha is the dynamic threshold: the share of the free shared buffer that a lossy queue, or a
	// lossless queue's frames from one port, may take (Choudhury and Hahne, ToN 1998). 0 means no
	// such limit.
	Alpha float64
	// Limit is a fixed threshold: the maximum length of a lossy queue, or the bytes from one port
	// at which a lossless queue pauses it (XOFF). 0 means none.
	Limit units.Bytes
	// Egress is the share of the free shared buffer that a lossless queue may hold from all ports:
	// the threshold of its egress port, as in Broadcom's chips. Frames beyond it are dropped
	// without a pause, except frames that go into headroom. 0 means no such limit.
	Egress float64
	// Resume is how far the bytes from a port must fall below the threshold before the port is
	// resumed (XON).
	Resume units.Bytes
	// Headroom is kept per port for frames that arrive after a pause; see [Headroom].
	Headroom units.Bytes
	// Reserve is kept per port for the queue's frames.
	Reserve units.Bytes

	ECN ECN
	// ECNOf replaces ECN for frames of some DSCPs, so that one queue marks each priority at its own
	// length (PrioPlus, appendix B).
	ECNOf map[uint8]ECN
	Bolt  Bolt

	// SelectiveDrop is the queue length from which IP packets that are not ECN-capable are dropped
	// (Aeolus: unscheduled packets). 0 means never.
	SelectiveDrop units.Bytes
	// Trim is the queue length from which frames are trimmed to their headers and moved to queue
	// TrimTo (NDP). 0 means never. The headers get the DSCP TrimDSCP, which distinguishes them from
	// broken packets; 0 leaves the DSCP unchanged. With TrimNewest the switch trims at random
	// either the arriving frame or the newest queued frame, which the arriving one then replaces
	// (NDP, SIGCOMM 2017).
	Trim       units.Bytes
	TrimTo     int
	TrimDSCP   uint8
	TrimNewest bool

	// Share limits the queue to a share of the link, in bytes on the wire, as for the token queue
	// of receiver-driven congestion control. Such a queue needs its own level. 0 means no limit.
	// Burst is how many frames may leave together after an idle time; 0 means 2. Queues with the
	// same nonzero Group have one limit together, in strict priority: tokens of several priorities
	// (ToCC, section VII).
	Share float64
	Burst int
	Group int
}

// ECN configures ECN marking: never below Kmin, with a probability that grows linearly to Pmax at
// Kmax, and always from Kmax on (RED, Floyd and Jacobson, ToN 1993, on the instantaneous length).
// Kmin = Kmax is DCTCP's step. Kmax 0 disables marking.
type ECN struct {
	Kmin, Kmax units.Bytes
	Pmax       float64
	// AtDequeue marks by the length of the queue at departure, not at arrival.
	AtDequeue bool
}

// probability returns the marking probability at a queue length.
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
		return fmt.Errorf("negative threshold in %+v", *q)
	case q.Egress > 0 && !q.Lossless:
		return errors.New("lossy queue with Egress: want 0, use Alpha")
	case q.Weight < 0 || q.Level < 0 || q.Burst < 0 || q.Group < 0:
		return fmt.Errorf("negative level, weight, burst or group in %+v", *q)
	case q.Group > 0 && q.Share == 0:
		return fmt.Errorf("group %d with no Share: want a positive share of the link", q.Group)
	case q.TrimTo < 0 || q.TrimTo >= MaxQueues:
		return fmt.Errorf("TrimTo queue %d out of range [0, %d)", q.TrimTo, MaxQueues)
	case q.TrimDSCP > 63:
		return fmt.Errorf("TrimDSCP %d out of range [0, 64)", q.TrimDSCP)
	case !(q.Share >= 0 && q.Share <= 1):
		return fmt.Errorf("share of the link %v out of range [0, 1]", q.Share)
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
			"ECN thresholds %d and %d with Pmax %v: want 0 <= Kmin <= Kmax, Pmax in [0, 1]",
			int64(e.Kmin), int64(e.Kmax), e.Pmax)
	}
	return nil
}

// ecn returns the marking configuration that applies to a frame.
func (q *Queue) ecn(f *frame) *ECN {
	if len(q.ECNOf) > 0 {
		if e, own := q.ECNOf[f.dscp]; own {
			return &e
		}
	}
	return &q.ECN
}

// Queues is the configuration of all queues of a port.
type Queues [MaxQueues]Queue

// At returns a function for SwitchConfig.Queues that returns q for every rate.
func (q Queues) At() func(units.BitRate) Queues { return func(units.BitRate) Queues { return q } }

// queue is the state of a queue of a port.
type queue struct {
	frameList
	bytes   units.Bytes // as stored in the buffer
	count   int32
	marks   bool   // config.ECN or ECNOf marks
	limit   *limit // nil: limited by the link only
	config  *Queue
	deficit int64
	watch   []func(units.Time, units.Bytes)
	stats   QueueStats
	weight  int64
	bolt    bolt
}

// QueueStats counts the frames of one queue of a port.
type QueueStats struct {
	Frames, Bytes uint64 // sent; bytes with check sequence, without preamble and gap
	Marked        uint64
	// Dropped counts frames without room: lossy threshold, buffer, headroom or egress threshold
	// exceeded.
	Dropped        uint64
	DroppedBytes   uint64
	Refused        uint64 // frames that came in at this port and were Dropped at any queue
	Selected       uint64 // dropped by SelectiveDrop
	Trimmed        uint64
	Congested      uint64 // Bolt: packets congested at this queue and at none before
	Reported       uint64 // Bolt: those of Congested reported to their senders
	Granted        uint64 // Bolt: packets that kept INC, their sender's request for one packet more
	Denied         uint64 // Bolt: packets that lost INC
	Longest        units.Bytes
	PausesSent     uint64 // pauses sent to the peer
	PausesReceived uint64
	Paused         units.Duration // total time for which the queue was paused
}
