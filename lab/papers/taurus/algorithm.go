package taurus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// An algorithm is an algorithm of section 5.1.
type algorithm string

// The paper measures iDCTCP and simulates DCTCP; here both use iDCTCP, which takes the sums of a
// NIC.
const (
	idctcp algorithm = "idctcp"
	swift  algorithm = "swift"
	hpcc   algorithm = "hpcc"
	bolt   algorithm = "bolt"
	// our default, with windows spread over their round trips
	paced algorithm = "bolt, paced"
)

var algorithms = []algorithm{idctcp, swift, hpcc, bolt}

// parameters come from the code to which the paper refers, where it differs from the defaults:
// Bolt's ns-3 model has Swift's, too.
var parameters = map[algorithm]string{
	idctcp: "idctcp", swift: "swift:base_target=10us,fs_max=256", hpcc: "hpcc",
	bolt: "bolt:pace=off", paced: "bolt",
}

func (a algorithm) control() (cc.Factory, error) { return cc.Parse(parameters[a]) }

// switches sets what the algorithm needs of switches.
func (a algorithm) switches(link fabric.Link) fabric.SwitchConfig {
	switch a {
	case idctcp:
		return lossless(link, marking(dctcpK))
	case bolt, paced:
		return lossless(link, func(q *fabric.Queue, _ units.BitRate) {
			q.Bolt = sim.Bolt(payload)
			q.Bolt.Supply = 2 * q.Bolt.Frame // the authors' setting in a fat tree
		})
	}
	c := lossless(link, func(*fabric.Queue, units.BitRate) {})
	c.INT = a == hpcc
	return c
}

// dctcpK is DCTCP's threshold for each 100 Gb/s (HPCC's simulator: 30 KB for each 10 Gb/s).
const dctcpK = 300_000

// marking returns DCTCP's, with a threshold for each 100 Gb/s.
func marking(k units.Bytes) func(*fabric.Queue, units.BitRate) {
	return func(q *fabric.Queue, r units.BitRate) {
		q.ECN = fabric.ECN{Kmin: k, Kmax: k, Pmax: 1}.Scale(float64(r) / float64(100*units.Gbps))
	}
}

// lossless returns a switch with a buffer of 32 MB and PFC, whose data queues have further
// settings.
func lossless(link fabric.Link, besides func(*fabric.Queue, units.BitRate)) fabric.SwitchConfig {
	c := fabric.HPCCSwitch(buffer, 0.125, fabric.ECN{}, link.Delay, data)
	of := c.Queues
	c.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		qs[data].Headroom = fabric.Headroom(r, link.Delay, link.Delay, payload+headers,
			pauseResponse)
		besides(&qs[data], r)
		return qs
	}
	return c
}
