package tocc

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// network is a leaf-spine of section VI.
type network struct {
	Name string
	fabric.LeafSpine
}

// The paper's networks. The default has uplinks as fast as the hosts', 4:1; non-blocking ones are
// four times as fast.
var (
	os100 = network{"tocc-os100", fabric.ToCC(100*units.Gbps, 100*units.Gbps)}
	nb100 = network{"tocc-nb100", fabric.ToCC(100*units.Gbps, 400*units.Gbps)}
	os10  = network{"tocc-os10", fabric.ToCC(10*units.Gbps, 10*units.Gbps)}
	nb10  = network{"tocc-nb10", fabric.ToCC(10*units.Gbps, 40*units.Gbps)}
)

// small returns two racks of eight hosts, with as many spines as keep the oversubscription.
func (n network) small() network {
	n.Name += " small"
	n.Leaves, n.HostsPerLeaf, n.Spines = 2, 8, n.Spines/2
	return n
}

// at returns the network with hosts' links at a rate, and the uplinks in proportion.
func (n network) at(host units.BitRate) network {
	n.Up.Rate = n.Up.Rate / n.Host.Rate * host
	n.Host.Rate = host
	return n
}

// networkAt returns n at full scale, and its small form at small scale.
func networkAt(s experiment.Scale, n network) network { return experiment.At(s, n, n.small()) }

// payload of packets is the path MTU for Ethernet's 1500 bytes.
const payload = units.KiB

// mtu is the unit in which the paper measures incasts.
const mtu = 1500 * units.Bytes(1)

func (n network) hosts() int { return n.Leaves * n.HostsPerLeaf }

// capacity returns what each host can send when all do and everything crosses the core: the base of
// load.
func (n network) capacity() units.BitRate {
	return min(n.Host.Rate, n.Up.Rate*units.BitRate(n.Spines)/units.BitRate(n.HostsPerLeaf))
}

// onWire returns the minimum that a flow takes of links: its packets of data, and an ACK.
func onWire(size units.Bytes) units.Bytes {
	return size + (size+payload-1)/payload*sim.Overhead + wire.RETHLen + sim.Overhead + wire.AETHLen
}

// meanOnWire returns the mean of it.
func meanOnWire(sizes *workload.Sizes) float64 {
	const steps = 100_000
	sum := 0.0
	for i := range steps {
		size := sizes.Quantile((float64(i) + 0.5) / steps)
		sum += float64(onWire(size) - size)
	}
	return sizes.Mean() + sum/steps
}

// meanPackets returns the mean number of a flow's packets.
func meanPackets(sizes *workload.Sizes) float64 {
	const steps = 100_000
	sum := 0.0
	for i := range steps {
		sum += float64((sizes.Quantile((float64(i)+0.5)/steps) + payload - 1) / payload)
	}
	return sum / steps
}

// received returns the bytes of data, with headers, that the hosts' links have carried to them.
func (n network) received(net *fabric.Network) (sum uint64) {
	for i := range n.hosts() {
		port := net.Host(i).NIC().Ports()[0].Peer()
		for q := range tokens {
			sum += port.QueueStats(q).Bytes
		}
	}
	return sum
}
