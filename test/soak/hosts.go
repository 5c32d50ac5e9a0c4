package main

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// drawHost draws what all hosts are like.
func (p *plan) drawHost(d dice) {
	c := &p.parts.Host
	if d.chance(0.5) {
		c.TxDepth = scale(d, 1, 256)
	}
	if d.chance(0.5) {
		c.TxDelay = between(d, 0, units.Microsecond)
		c.RxDelay = between(d, 0, 2*units.Microsecond)
	}
	if d.chance(0.3) {
		c.CPU = fabric.CPU{PerPoll: between(d, 0, 200*units.Nanosecond),
			PerPacket: between(d, 0, 500*units.Nanosecond)}
	}
	if d.chance(0.3) {
		c.PCIe.Rate = scale(d, p.topology.slowest/2, 2*p.topology.fastest)
		c.PCIe.Latency = between(d, 0, units.Microsecond)
	}
	if d.chance(0.3) { // rare long delays, as hosts have them
		p.jitter = scale(d, units.Nanosecond, 50*units.Microsecond)
		noise := newDice(p.seed, 0x6a6974746572)
		c.Jitter = func() units.Duration {
			if noise.chance(0.05) {
				return p.jitter
			}
			return between(noise, 0, p.jitter/20)
		}
	}
	if p.kind.overload && d.chance(0.4) {
		c.RxDepth = scale(d, 4, 128)
		c.CPU.PerPacket = between(d, 0, 2*units.Microsecond)
	}
	if p.kind.overload && d.chance(0.2) {
		c.PCIe.Rate = scale(d, p.topology.slowest/4, p.topology.slowest)
		c.PCIe.Buffer = scale(d, 2*p.parts.MTU, 200000)
		if d.chance(0.5) {
			c.PCIe.XOff = c.PCIe.Buffer / 2
		}
	}
	p.hosts = fmt.Sprintf("tx depth %d, rx depth %d, delays %v and %v, jitter to %v, CPU %v a "+
		"poll and %v a packet, PCIe %+v",
		c.TxDepth, c.RxDepth, c.TxDelay, c.RxDelay, p.jitter, c.CPU.PerPoll, c.CPU.PerPacket,
		c.PCIe)
}
