package dpdk

import (
	"github.com/goroce/goroce/dpdk/ethdev"
)

// shape is how the hardware queues of a device are dealt out to Queues and classes.
//
// The transmit queue of class c of Queue i is i*classes+c. A loop has a receive queue for each
// transmit queue of the other end, and a Queue polls those of its number, highest class first, so
// that an ACK does not wait behind data; any other device has one receive queue per Queue.
type shape struct {
	queues, classes int // of this device
	rxq, txq        int // hardware queues to set up
	stride          int // classes of the other end of a loop, else 1
}

// shapeOf fits what is asked into what the device has.
func shapeOf(o Options, scheme Scheme, info ethdev.Info) shape {
	s := shape{queues: max(1, min(o.Queues, info.MaxRxQ, info.MaxTxQ)), classes: 1, stride: 1}
	if scheme == PCI || scheme == Null {
		s.classes = max(1, min(o.Classes, info.MaxTxQ/s.queues))
	}
	s.rxq, s.txq = s.queues, s.queues*s.classes
	return s
}

// loopShape fits what is asked into the rings a loop has; all of them must be polled, asked or not.
func loopShape(o Options, ringQueues, ringClasses int) shape {
	all := ringQueues * ringClasses
	return shape{queues: min(o.Queues, ringQueues), classes: min(o.Classes, ringClasses),
		rxq: all, txq: all, stride: ringClasses}
}

// rx are the hardware queues that Queue i polls, in order.
func (s shape) rx(i int) []uint16 {
	var ids []uint16
	for class := s.stride - 1; class >= 0; class-- {
		for q := i; q < s.rxq/s.stride; q += s.queues {
			ids = append(ids, uint16(q*s.stride+class))
		}
	}
	return ids
}

// tx are the hardware queues of Queue i, one per class.
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
