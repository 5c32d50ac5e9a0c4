package taurus

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// payload of packets is the path MTU of the paper's testbed.
const payload = 4 * units.KiB

// buffer is shared by the ports of a switch.
const buffer = units.Bytes(32_000_000)

// Queues of switches, by class selectors: data, and above all others ACKs, with their traffic
// class.
const (
	data        = 0
	answerClass = 7 << 5
)

const (
	headers       = 200 // maximum overhead of a frame
	pauseResponse = 480 // bytes that leave after a pause arrives: 802.3's 3840 bit times
)

// link is the catalogue's taurus-link, four of which make up the round trip of the paper's testbed,
// 5 µs.
func link(s experiment.Scale) fabric.Link {
	return fabric.Link{Rate: experiment.At(s, 400*units.Gbps, 100*units.Gbps),
		Delay: 1250 * units.Nanosecond}
}

// capacity is the payload that a link carries, in bit/s.
func capacity(l fabric.Link) float64 {
	return float64(l.Rate) * float64(payload) / float64(payload+sim.Overhead)
}
