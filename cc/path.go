package cc

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/units"
)

// Path is what an algorithm is told at its start: what it needs to know and cannot measure.
type Path struct {
	LineRate units.BitRate  // of the sender's port
	BaseRTT  units.Duration // of a full packet and its acknowledgement through empty queues
	Payload  units.Bytes    // of a full packet
	Hops     int            // switches on the way; 0 unknown
	Signals  Signals        // what it can tell
	Seed     uint32         // of what an algorithm draws by lot: another one for each flow
	// LineRate is a guess, of a port that says none: it is no limit, and all of it is not paced
	Guessed bool
}

// BDP is what line rate carries in a base round trip.
func (p Path) BDP() units.Bytes { return p.LineRate.Bytes(p.BaseRTT) }

func (p Path) check() error {
	switch {
	case p.LineRate <= 0:
		return fmt.Errorf("a path needs its line rate, and %v is none", p.LineRate)
	case p.BaseRTT <= 0:
		return fmt.Errorf("a path needs its base round-trip time, and %v is none", p.BaseRTT)
	case p.Payload <= 0:
		return fmt.Errorf("a path needs the payload of a full packet, and %v is none", p.Payload)
	case p.Hops < 0:
		return fmt.Errorf("a path of %d hops is none", p.Hops)
	}
	return nil
}

// Signals is a set of what a path can tell an algorithm, beyond acknowledgements, losses and CNPs,
// which every RoCEv2 path has.
type Signals uint8

// The signals.
const (
	SignalDelay    Signals = 1 << iota // round-trip samples
	SignalEndpoint                     // which part of them passed in the hosts
	SignalMarks                        // marks of switches, echoed packet for packet
	SignalINT                          // in-band telemetry of every hop
	SignalSRC                          // switches speak to the sender (Bolt)
	SignalOneWay                       // delay of the way there alone, beside round-trip samples
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

// Packets is an amount of payload in full packets of the path. Fractions of one are meant.
type Packets float64
