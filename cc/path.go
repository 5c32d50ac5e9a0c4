package cc

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/units"
)

// Path is what an algorithm needs to know at its start and cannot measure.
type Path struct {
	LineRate units.BitRate  // of the sender's port
	BaseRTT  units.Duration // of a full packet and its acknowledgement through empty queues
	Payload  units.Bytes    // of a full packet
	Hops     int            // switches on the way; 0 unknown
	Signals  Signals        // what the path can report
	Seed     uint32         // of the flow's random numbers: different for each flow
	// Guessed marks a LineRate that is a guess, because the port does not report one: it is not a
	// limit, and a flow at that rate is not paced.
	Guessed bool
}

// BDP returns what line rate carries in a base round trip.
func (p Path) BDP() units.Bytes { return p.LineRate.Bytes(p.BaseRTT) }

func (p Path) check() error {
	switch {
	case p.LineRate <= 0:
		return fmt.Errorf("line rate %v, want more than 0", p.LineRate)
	case p.BaseRTT <= 0:
		return fmt.Errorf("base round trip %v, want more than 0", p.BaseRTT)
	case p.Payload <= 0:
		return fmt.Errorf("payload %v of a full packet, want more than 0", p.Payload)
	case p.Hops < 0:
		return fmt.Errorf("%d hops, want 0 or more", p.Hops)
	}
	return nil
}

// Signals is the set of signals that a path gives an algorithm, beyond acknowledgements, losses and
// CNPs, which every RoCEv2 path has.
type Signals uint8

// The signals.
const (
	SignalDelay    Signals = 1 << iota // round-trip samples
	SignalEndpoint                     // which part of them passed in the hosts
	SignalMarks                        // marks of switches, echoed packet for packet
	SignalINT                          // in-band telemetry of every hop
	SignalSRC                          // reports of switches to the sender (Bolt)
	SignalOneWay                       // forward delay, beside round-trip samples
	allSignals     = SignalOneWay<<1 - 1
)

var signalNames = []string{"delay", "endpoint delay", "marks", "INT", "SRC", "one-way delay"}

func (s Signals) String() string {
	if s&allSignals == 0 {
		return "nothing"
	}
	var names []string
	for i, name := range signalNames {
		if s>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Packets is an amount of payload in full packets of the path. It may be fractional.
type Packets float64
