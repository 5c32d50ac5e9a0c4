package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Parts has the configurations of a topology: one for all switches, and one for all hosts except
// for the changes by HostOf.
type Parts struct {
	Config
	Host HostConfig
	// HostOf, if not nil, changes the configuration of the host with an index.
	HostOf func(host int, c *HostConfig)
	Switch SwitchConfig
}

// AddHost adds the next host to a network.
func (p *Parts) AddHost(n *Network) *Host {
	c := p.Host
	if p.HostOf != nil {
		p.HostOf(len(n.hosts), &c)
	}
	return n.AddHost(c)
}

func (p *Parts) addHosts(n *Network, count int, s *Switch, l Link) {
	for range count {
		n.Connect(p.AddHost(n), s, l)
	}
}

// Star returns a network of hosts around one switch. By convention the last host receives an
// incast.
func Star(p Parts, hosts int, l Link) *Network {
	n := New(p.Config)
	p.addHosts(n, hosts, n.AddSwitch("switch", p.Switch), l)
	return n
}

// Dumbbell returns a network of two switches with a link between them that the hosts on the left
// and on the right share. The hosts on the left have the lower indices.
func Dumbbell(p Parts, left, right int, edge, middle Link) *Network {
	n := New(p.Config)
	l, r := n.AddSwitch("left", p.Switch), n.AddSwitch("right", p.Switch)
	p.addHosts(n, left, l, edge)
	p.addHosts(n, right, r, edge)
	n.Connect(l, r, middle)
	return n
}

// Branch is one level of a tree: the number of children of each node of the level above, and their
// links. The children of the last level are hosts.
type Branch struct {
	Children int
	Link     Link
}

// Tree returns a network of a root switch with levels of branches below it.
func Tree(p Parts, levels ...Branch) *Network {
	n := New(p.Config)
	above := []*Switch{n.AddSwitch("root", p.Switch)}
	for depth, level := range levels {
		var here []*Switch
		for _, parent := range above {
			if depth == len(levels)-1 {
				p.addHosts(n, level.Children, parent, level.Link)
				continue
			}
			for range level.Children {
				s := n.AddSwitch(fmt.Sprintf("level %d switch %d", depth+1, len(here)), p.Switch)
				n.Connect(parent, s, level.Link)
				here = append(here, s)
			}
		}
		above = here
	}
	return n
}

// LeafSpine is a network of hosts on leaf switches, each linked to every spine switch.
type LeafSpine struct {
	Leaves, Spines, HostsPerLeaf int
	Host, Up                     Link
}

// Oversubscription returns the ratio of the rate of a leaf's hosts to the rate of its uplinks; 1 is
// non-blocking.
func (t LeafSpine) Oversubscription() float64 {
	return float64(t.HostsPerLeaf) * float64(t.Host.Rate) / (float64(t.Spines) * float64(t.Up.Rate))
}

// Build returns a network with the configurations in p.
func (t LeafSpine) Build(p Parts) *Network {
	n := New(p.Config)
	spines := make([]*Switch, t.Spines)
	for i := range spines {
		spines[i] = n.AddSwitch(fmt.Sprintf("spine %d", i), p.Switch)
	}
	for i := range t.Leaves {
		leaf := n.AddSwitch(fmt.Sprintf("leaf %d", i), p.Switch)
		p.addHosts(n, t.HostsPerLeaf, leaf, t.Host)
		for _, s := range spines {
			n.Connect(leaf, s, t.Up)
		}
	}
	return n
}

// Clos is a network of three tiers: pods of top-of-rack and aggregation switches, fully connected
// within a pod, and core switches. The i-th aggregation switches of all pods are linked to the same
// CoresPerAgg core switches.
type Clos struct {
	Pods, ToRsPerPod, AggsPerPod, HostsPerToR, CoresPerAgg int

	Host, ToR, Core Link // of a host, and the uplinks of a ToR and of an aggregation switch
}

// FatTree returns the k-ary fat tree of Al-Fares et al. (SIGCOMM 2008): k³/4 hosts, one link rate,
// non-blocking. k must be even.
func FatTree(k int, l Link) Clos {
	return Clos{Pods: k, ToRsPerPod: k / 2, AggsPerPod: k / 2, HostsPerToR: k / 2,
		CoresPerAgg: k / 2, Host: l, ToR: l, Core: l}
}

// Build returns a network with the configurations in p.
func (t Clos) Build(p Parts) *Network {
	n := New(p.Config)
	cores := make([]*Switch, t.AggsPerPod*t.CoresPerAgg)
	for i := range cores {
		cores[i] = n.AddSwitch(fmt.Sprintf("core %d", i), p.Switch)
	}
	for pod := range t.Pods {
		aggs := make([]*Switch, t.AggsPerPod)
		for i := range aggs {
			aggs[i] = n.AddSwitch(fmt.Sprintf("pod %d agg %d", pod, i), p.Switch)
			for _, core := range cores[i*t.CoresPerAgg : (i+1)*t.CoresPerAgg] {
				n.Connect(aggs[i], core, t.Core)
			}
		}
		for i := range t.ToRsPerPod {
			tor := n.AddSwitch(fmt.Sprintf("pod %d tor %d", pod, i), p.Switch)
			p.addHosts(n, t.HostsPerToR, tor, t.Host)
			for _, agg := range aggs {
				n.Connect(tor, agg, t.ToR)
			}
		}
	}
	return n
}

// BaseRTT returns how long a packet of size bytes (as in a Buf) takes from src to dst, and a
// response of back bytes to return, in an idle network, with the delays of the hosts' NICs.
func (n *Network) BaseRTT(src, dst int, size, back units.Bytes) units.Duration {
	return n.oneWay(src, dst, size) + n.oneWay(dst, src, back)
}

func (n *Network) oneWay(src, dst int, size units.Bytes) units.Duration {
	f := frame{}
	f.resize(int(size))
	total := n.hosts[dst].config.RxDelay + n.hosts[dst].config.PCIe.Latency
	for _, p := range n.Path(src, dst, 0) {
		total += p.serialize(f.wire) + p.delay
	}
	return total
}

// Bottleneck returns the rate of the slowest link between two hosts.
func (n *Network) Bottleneck(src, dst int) units.BitRate {
	slowest := units.BitRate(0)
	for _, p := range n.Path(src, dst, 0) {
		if slowest == 0 || p.rate < slowest {
			slowest = p.rate
		}
	}
	return slowest
}
