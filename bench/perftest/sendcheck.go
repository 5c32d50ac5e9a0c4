package perftest

import (
	"encoding/binary"
	"fmt"

	"github.com/goroce/goroce/transport"
)

// sendCheck is what a sender does to each message beside posting it, when anything is to be done:
// inline data, the operands of a CMP_AND_SWAP, and what --data_validation wants.
type sendCheck struct {
	mem          []byte // of the lane's region
	base         uint64 // its address
	size         int
	pair         uint64
	validate     bool
	atomic       bool
	slots        int
	from, stride int // where READs and atomics bring their data
}

// prepare completes the request of a message.
func (c *sendCheck) prepare(wr *transport.WorkRequest, message uint64) {
	at := int(wr.SGList[0].Addr - c.base)
	data := c.mem[at : at+c.size]
	if wr.Flags&transport.Inline != 0 {
		wr.Data = data
	}
	switch wr.Op {
	case transport.OpCmpSwap: // counts up, so that every one swaps
		wr.CompareAdd, wr.Swap = message, message+1
	case transport.OpRead, transport.OpFetchAdd:
	default:
		if c.validate {
			fillPattern(data, c.pair, message)
		}
		return
	}
	if c.validate { // so that old data cannot pass for new
		clear(data)
		data[len(data)-1] = ^data[len(data)-1]
	}
}

// arrived looks at what message brought. A READ finds the pattern of its slot, an atomic the number
// of those before it.
func (c *sendCheck) arrived(message uint64) error {
	slot := message % uint64(c.slots)
	at := c.from + int(slot)*c.stride
	data := c.mem[at : at+c.size]
	if !c.atomic {
		return checkPattern(data, c.pair, slot)
	}
	if found := binary.NativeEndian.Uint64(data); found != message {
		return fmt.Errorf("data validation: queue pair %d, atomic %d found %d, not %d", c.pair,
			message, found, message)
	}
	return nil
}
