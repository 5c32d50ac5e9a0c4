package cluster

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Bolt is what switches have where Bolt controls packets of a path MTU, with the authors'
// parameters for a single bottleneck.
func Bolt(pathMTU units.Bytes) fabric.Bolt {
	return fabric.Bolt{Frame: pathMTU + dataOverhead + wire.XCHLen + wire.InnerLen + wire.BoltLen +
		frameCheck}
}

// frameCheck is what a switch stores of a frame besides what a Buf has of it.
const frameCheck = 4

// src is the signal that switches speak to the sender, when those between two hosts do.
func (c *Cluster) src(from, to int) cc.Signals {
	if c.Net.Bolt(from, to, c.config.TrafficClass) {
		return cc.SignalSRC
	}
	return 0
}
