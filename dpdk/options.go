package dpdk

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/goroce/goroce/dpdk/mempool"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// Limits and defaults of Options.
const (
	DefaultBuffers = 2047 // 2047 buffers of 4 KiB fit a last-level cache; 2^n-1 fits a ring exactly
	MaxBuffers     = 1<<20 - 1
	MaxQueues      = 64
	MinMTU         = 68 // IPv4's minimum
	MaxMTU         = mempool.MaxRoom - frameOverhead

	// frameOverhead is the length of the headers around an IP datagram: Ethernet with a VLAN tag.
	frameOverhead = 14 + 4
)

// ErrOptions is wrapped by every error about Options.
var ErrOptions = errors.New("dpdk: bad option")

// Options are the parameters of a device. The zero value requests one queue and one class.
type Options struct {
	// Queues is the number of receive and transmit queue pairs; 0 means 1. The device may provide
	// fewer.
	Queues int

	// Classes is the number of transmit queues per Queue, one per packet.Class; 0 means 1. The
	// other end of a loop polls all of them, which costs latency.
	Classes int

	// MTU is the largest IP datagram; 0 means the device's.
	MTU int

	// Buffers is the size of the mbuf pool; 0 means DefaultBuffers. The receive descriptors that a
	// device keeps filled are added to it.
	Buffers int

	// Clock is the program's clock: packet.Buf.Time of frames that the device stamps is in its
	// time. nil turns stamps off.
	Clock func() units.Time

	// Promiscuous receives frames to any address, as a switch does.
	Promiscuous bool

	// Logger receives warnings where the device provides less than requested; nil for none.
	Logger *slog.Logger

	// ExtraEAL are further arguments for EAL, used by the Open that starts it.
	ExtraEAL string
}

// Validate returns an error that wraps ErrOptions if a field is out of range.
func (o Options) Validate() error {
	for _, c := range []struct {
		name            string
		value, min, max int
	}{
		{"Queues", o.Queues, 0, MaxQueues},
		{"Classes", o.Classes, 0, int(packet.Classes)},
		{"Buffers", o.Buffers, 0, MaxBuffers},
	} {
		if c.value < c.min || c.value > c.max {
			return fmt.Errorf("%w: %s = %d, want %d to %d", ErrOptions, c.name, c.value, c.min,
				c.max)
		}
	}
	if o.MTU != 0 && (o.MTU < MinMTU || o.MTU > MaxMTU) {
		return fmt.Errorf("%w: MTU = %d, want %d to %d", ErrOptions, o.MTU, MinMTU, MaxMTU)
	}
	return nil
}

// filled returns o with the defaults in place of zeros, except for MTU.
func (o Options) filled() Options {
	o.Queues = max(o.Queues, 1)
	o.Classes = max(o.Classes, 1)
	if o.Buffers == 0 {
		o.Buffers = DefaultBuffers
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
