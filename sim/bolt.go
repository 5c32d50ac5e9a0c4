package sim

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Bolt is the configuration of switches for Bolt at a path MTU, with the authors' parameters for a
// single bottleneck.
func Bolt(pathMTU units.Bytes) fabric.Bolt {
	added := units.Bytes(wire.XCHLen + wire.InnerLen + extension.BoltLen)
	return fabric.Bolt{Frame: pathMTU + dataOverhead + added + frameCheck}
}

// frameCheck is what a switch stores of a frame beyond the bytes of its Buf.
const frameCheck = 4

// src returns cc.SignalSRC if all switches between two hosts report to the sender.
func (s *Simulation) src(from, to int) cc.Signals {
	if s.Net.Bolt(from, to, s.Scheme.TrafficClass) {
		return cc.SignalSRC
	}
	return 0
}
