package dpdk

import (
	"github.com/goroce/goroce/dpdk/ethdev"
)

// shape is the assignment of hardware queues to Queues and classes.
//
// The transmit queue of class c of Queue i is i*classes+c. A loop has a receive queue for each
// transmit queue of the other end. A Queue polls those with its own number, highest class first, so
// that an ACK does not wait behind data. Any other device has one receive queue per Queue.
type shape struct {
	queues, classes int // of this device
	rxq, txq        int // hardware queues to set up
	stride          int // classes of the other end of a loop, else 1
}

// shapeOf returns the shape closest to the options that the device supports.
func shapeOf(o Options, scheme Scheme, info ethdev.Info) shape {
	s := shape{queues: max(1, min(o.Queues, info.MaxRxQ, info.MaxTxQ)), classes: 1, stride: 1}
	if scheme == PCI || scheme == Null {
		s.classes = max(1, min(o.Classes, info.MaxTxQ/s.queues))
	}
	s.rxq, s.txq = s.queues, s.queues*s.classes
	return s
}

// loopShape returns the shape that fits the rings of a loop; all of them must be polled, requested
// or not.
func loopShape(o Options, ringQueues, ringClasses int) shape {
	all := ringQueues * ringClasses
	return shape{queues: min(o.Queues, ringQueues), classes: min(o.Classes, ringClasses),
		rxq: all, txq: all, stride: ringClasses}
}

// rx returns the hardware queues that Queue i polls, in order.
func (s shape) rx(i int) []uint16 {
	var ids []uint16
	for class := s.stride - 1; class >= 0; class-- {
		for q := i; q < s.rxq/s.stride; q += s.queues {
			ids = append(ids, uint16(q*s.stride+class))
		}
	}
	return ids
}

// tx returns the hardware queues of Queue i, one per class.
func (s shape) tx(i int) []uint16 {
	stride := s.txq / s.queues
	if s.stride > 1 {
		stride = s.stride
	}
	ids := make([]uint16, s.classes)
	for class := range ids {
		ids[class] = uint16(i*stride + class)
	}
	return ids
}
