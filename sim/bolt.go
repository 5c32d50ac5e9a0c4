package sim

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Bolt is what switches have where Bolt controls packets of a path MTU, with the authors'
// parameters for a single bottleneck.
func Bolt(pathMTU units.Bytes) fabric.Bolt {
	added := units.Bytes(wire.XCHLen + wire.InnerLen + extension.BoltLen)
	return fabric.Bolt{Frame: pathMTU + dataOverhead + added + frameCheck}
}

// frameCheck is what a switch stores of a frame in addition to what a Buf has of it.
const frameCheck = 4

// src is the signal that switches report to the sender, where those between two hosts do.
func (s *Simulation) src(from, to int) cc.Signals {
	if s.Net.Bolt(from, to, s.Scheme.TrafficClass) {
		return cc.SignalSRC
	}
	return 0
}
