package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Parts are what a topology is made of: all its switches are alike, and all its hosts but for what
// HostOf changes.
type Parts struct {
	Config
	Host HostConfig
	// HostOf, unless nil, changes the configuration of a host by its index.
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

// Star is hosts around one switch. An incast is a star whose last host receives.
func Star(p Parts, hosts int, l Link) *Network {
	n := New(p.Config)
	p.addHosts(n, hosts, n.AddSwitch("switch", p.Switch), l)
	return n
}

// Dumbbell is two switches with a link between them, which hosts on the left and hosts on the
// right share. The hosts on the left have the lower indices.
func Dumbbell(p Parts, left, right int, edge, middle Link) *Network {
	n := New(p.Config)
	l, r := n.AddSwitch("left", p.Switch), n.AddSwitch("right", p.Switch)
	p.addHosts(n, left, l, edge)
	p.addHosts(n, right, r, edge)
	n.Connect(l, r, middle)
	return n
}

// Branch is one level of a tree: how many children each node of the level above has, and by which
// link. The last level's children are hosts.
type Branch struct {
	Children int
	Link     Link
}

// Tree is a switch with branches below it, level by level.
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

// LeafSpine is hosts on leaf switches, each of which has a link to every spine switch.
type LeafSpine struct {
	Leaves, Spines, HostsPerLeaf int
	Host, Up                     Link
}

// Oversubscription answers how much more a leaf's hosts may send than its links to the spines
// carry; 1 is non-blocking.
func (t LeafSpine) Oversubscription() float64 {
	return float64(t.HostsPerLeaf) * float64(t.Host.Rate) / (float64(t.Spines) * float64(t.Up.Rate))
}

// Build makes it of parts.
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

// Clos is three tiers: pods of top-of-rack and aggregation switches, each with a link to each of
// the other kind in its pod, and core switches. The i-th aggregation switch of every pod has links
// to the same CoresPerAgg core switches.
type Clos struct {
	Pods, ToRsPerPod, AggsPerPod, HostsPerToR, CoresPerAgg int

	Host, ToR, Core Link // of a host, of a ToR switch upward, of an aggregation switch upward
}

// FatTree is the k-ary fat tree of Al-Fares et al. (SIGCOMM 2008): k³/4 hosts, one rate everywhere,
// non-blocking. k is even.
func FatTree(k int, l Link) Clos {
	return Clos{Pods: k, ToRsPerPod: k / 2, AggsPerPod: k / 2, HostsPerToR: k / 2,
		CoresPerAgg: k / 2, Host: l, ToR: l, Core: l}
}

// Build makes it of parts.
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

// BaseRTT answers how long a packet of size bytes (as in a Buf) takes from one host to another and
// an answer of back bytes to return, when nothing else is on the way; processing at the hosts is
// what their configuration says.
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

// Bottleneck answers the rate of the slowest link between two hosts.
func (n *Network) Bottleneck(src, dst int) units.BitRate {
	slowest := units.BitRate(0)
	for _, p := range n.Path(src, dst, 0) {
		if slowest == 0 || p.rate < slowest {
			slowest = p.rate
		}
	}
	return slowest
}
