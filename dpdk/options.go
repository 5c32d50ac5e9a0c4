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
	DefaultBuffers = 2047 // × 4 KiB is what a last-level cache holds; 2^n-1 fits a ring exactly
	MaxBuffers     = 1<<20 - 1
	MaxQueues      = 64
	MinMTU         = 68 // IPv4's own minimum
	MaxMTU         = mempool.MaxRoom - frameOverhead

	// frameOverhead is what a frame has beyond its IP datagram: Ethernet header and a VLAN tag.
	frameOverhead = 14 + 4
)

// ErrOptions is the kind of every error about Options.
var ErrOptions = errors.New("dpdk: bad option")

// Options say what to ask of a device. The zero value is a good one: one queue, one class.
type Options struct {
	// Queues is how many receive and transmit queue pairs to ask for; 0 means 1. The device may
	// give fewer.
	Queues int

	// Classes is how many transmit queues each Queue should have, one per packet.Class; 0 means
	// 1. Every one is one more to poll at a loop's other end, which costs latency.
	Classes int

	// MTU is the largest IP datagram to be carried; 0 leaves it to the device.
	MTU int

	// Buffers is the size of the mbuf pool; 0 means DefaultBuffers. A device that keeps
	// receive descriptors filled gets those on top.
	Buffers int

	// Clock is the program's: packet.Buf.Time of frames that the device stamps is told by it. nil
	// leaves stamps alone.
	Clock func() units.Time

	// Logger hears what the device gave less of than was asked; nil for nothing.
	Logger *slog.Logger

	// ExtraEAL are more arguments for EAL, used by the Open that starts it: the escape hatch.
	ExtraEAL string
}

// Validate says what is out of range.
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

// filled answers o with every zero replaced by its meaning, MTU excepted.
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
