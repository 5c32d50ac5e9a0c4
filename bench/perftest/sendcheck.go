package perftest

import (
	"encoding/binary"
	"fmt"

	"github.com/goroce/goroce/transport"
)

// sendCheck prepares each message of a sender before it is posted: inline data, the operands of a
// CMP_AND_SWAP, and the data for --data_validation.
type sendCheck struct {
	mem          []byte // of the memory region
	base         uint64 // address of mem
	size         int
	pair         uint64
	validate     bool
	atomic       bool
	slots        int
	from, stride int // destinations of READs and atomics
}

// prepare completes the request of a message.
func (c *sendCheck) prepare(wr *transport.WorkRequest, message uint64) {
	at := int(wr.SGList[0].Addr - c.base)
	data := c.mem[at : at+c.size]
	if wr.Inline {
		wr.Data = data
	}
	switch wr.Op {
	case transport.OpCmpSwap: // each compare operand matches, so that every operation swaps
		wr.CompareAdd, wr.Swap = message, message+1
	case transport.OpRead, transport.OpFetchAdd:
	default:
		if c.validate {
			fillPattern(data, c.pair, message)
		}
		return
	}
	if c.validate { // so that old data cannot be mistaken for new
		clear(data)
		data[len(data)-1] = ^data[len(data)-1]
	}
}

// arrived checks the response of a message: a READ returns the pattern of its slot, an atomic the
// number of previous atomics.
func (c *sendCheck) arrived(message uint64) error {
	slot := message % uint64(c.slots)
	at := c.from + int(slot)*c.stride
	data := c.mem[at : at+c.size]
	if !c.atomic {
		return checkPattern(data, c.pair, slot)
	}
	if found := binary.NativeEndian.Uint64(data); found != message {
		return fmt.Errorf("data validation: queue pair %d, atomic %d: got %d, want %d", c.pair,
			message, found, message)
	}
	return nil
}
