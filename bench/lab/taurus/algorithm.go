package taurus

import (
	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// An algorithm is one of section 5.1.
type algorithm string

// The paper has iDCTCP where it measures, and DCTCP where it simulates; here it is iDCTCP in both, which hears what a
// NIC sums up. Bolt's switches report.
const (
	idctcp algorithm = "idctcp"
	swift  algorithm = "swift"
	hpcc   algorithm = "hpcc"
	bolt   algorithm = "bolt"
)

var algorithms = []algorithm{idctcp, swift, hpcc, bolt}

// control has the parameters of the code that the paper names, where those are not the defaults: Bolt's ns-3 model has
// both.
func (a algorithm) control() (cc.Control, error) {
	return cc.Parse(string(a) + parameters[a])
}

var parameters = map[algorithm]string{swift: ":base_target=10us,fs_max=256", bolt: ":pace=off"}

// dctcpK is DCTCP's threshold for each 100 Gb/s (HPCC's simulator: 30 KB for each 10 Gb/s).
const dctcpK = 300_000

// switches is what the algorithm has for switches: buffers of 32 MB with PFC, and what it hears of them.
func (a algorithm) switches(link fabric.Link) fabric.SwitchConfig {
	c := fabric.HPCCSwitch(buffer, 0.125, fabric.ECN{}, link.Delay, data)
	of := c.Queues
	c.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		q := &qs[data]
		q.Headroom = fabric.Headroom(r, link.Delay, link.Delay, payload+headers, pauseResponse)
		switch a {
		case idctcp:
			q.ECN = fabric.ECN{Kmin: dctcpK, Kmax: dctcpK, Pmax: 1}.Scale(float64(r) / float64(100*units.Gbps))
		case bolt:
			q.Bolt = cluster.Bolt(payload)
			q.Bolt.Supply = 2 * q.Bolt.Frame // as its authors have it in a fat tree
		}
		return qs
	}
	c.INT = a == hpcc
	return c
}
