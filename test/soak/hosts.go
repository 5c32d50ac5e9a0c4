package main

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// drawHost draws the host configuration, which all hosts share.
func (p *plan) drawHost(r rng) {
	c := &p.parts.Host
	if r.chance(0.5) {
		c.TxDepth = logUniform(r, 1, 256)
	}
	if r.chance(0.5) {
		c.TxDelay = uniform(r, 0, units.Microsecond)
		c.RxDelay = uniform(r, 0, 2*units.Microsecond)
	}
	if r.chance(0.3) {
		c.CPU = fabric.CPU{PerPoll: uniform(r, 0, 200*units.Nanosecond),
			PerPacket: uniform(r, 0, 500*units.Nanosecond)}
	}
	if r.chance(0.3) {
		c.PCIe.Rate = logUniform(r, p.topology.slowest/2, 2*p.topology.fastest)
		c.PCIe.Latency = uniform(r, 0, units.Microsecond)
	}
	if r.chance(0.3) { // rare long delays, as on real hosts
		p.jitter = logUniform(r, units.Nanosecond, 50*units.Microsecond)
		r := newRNG(p.seed, 0x6a6974746572)
		c.Jitter = func() units.Duration {
			if r.chance(0.05) {
				return p.jitter
			}
			return uniform(r, 0, p.jitter/20)
		}
	}
	if p.kind.overload && r.chance(0.4) {
		c.RxDepth = logUniform(r, 4, 128)
		c.CPU.PerPacket = uniform(r, 0, 2*units.Microsecond)
	}
	if p.kind.overload && r.chance(0.2) {
		c.PCIe.Rate = logUniform(r, p.topology.slowest/4, p.topology.slowest)
		c.PCIe.Buffer = logUniform(r, 2*p.parts.MTU, 200000)
		if r.chance(0.5) {
			c.PCIe.XOff = c.PCIe.Buffer / 2
		}
	}
	p.hosts = fmt.Sprintf("tx depth %d, rx depth %d, delays %v and %v, jitter to %v, CPU %v a "+
		"poll and %v a packet, PCIe %+v",
		c.TxDepth, c.RxDepth, c.TxDelay, c.RxDelay, p.jitter, c.CPU.PerPoll, c.CPU.PerPacket,
		c.PCIe)
}
