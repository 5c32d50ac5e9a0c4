package fabric

import "github.com/goroce/goroce/units"

// The networks of the papers that goroce reproduces and of their baselines. Where a paper and its
// published configuration differ, the comment states which one is implemented.

const (
	gbps = units.Gbps
	us   = units.Microsecond
	ns   = units.Nanosecond
)

// PrioPlusMicro is the micro-benchmark of PrioPlus (EuroSys 2025, §6.1): senders and a receiver,
// the last host, around one switch; 100 Gb/s, 3 µs per link, base RTT 12 µs.
func PrioPlusMicro(p Parts, senders int) *Network {
	return Star(p, senders+1, Link{100 * gbps, 3 * us})
}

// PrioPlusTestbed is the testbed of PrioPlus (§6.1): four senders and a root at 10 Gb/s, base RTT
// 13 µs.
func PrioPlusTestbed(p Parts) *Network { return Star(p, 5, Link{10 * gbps, 2800 * ns}) }

// PrioPlusFlowScheduling is the fat tree of PrioPlus with k = 6 (§6.2): 54 hosts, 45 switches, 100
// Gb/s, 1 µs. Its buffers are 4.4 MB per Tb/s of a switch: 2.64 MB.
func PrioPlusFlowScheduling() Clos { return FatTree(6, Link{100 * gbps, us}) }

// PrioPlusCoflow is the network of PrioPlus for coflows (§6.2), also used by HPCC and TAURUS: 5
// pods, 320 hosts at 100 Gb/s, 20 ToR, 20 aggregation and 16 core switches with links of 400 Gb/s,
// 1 µs, 32 MB per switch; non-blocking above the ToR switches.
func PrioPlusCoflow() Clos { return hpccFat(100 * gbps) }

// PrioPlusML is the network of PrioPlus for training (§6.2): 24 servers at 100 Gb/s under three
// leaves, one spine and uplinks of 400 Gb/s, an oversubscription of 2:1. The published
// configuration has hosts at 200 Gb/s, 4:1.
func PrioPlusML() LeafSpine {
	return LeafSpine{Leaves: 3, Spines: 1, HostsPerLeaf: 8, Host: Link{100 * gbps, us},
		Up: Link{400 * gbps, us}}
}

// HPCCFat is the large network of HPCC (SIGCOMM 2019; fat.txt).
func HPCCFat() Clos { return hpccFat(100 * gbps) }

// TAURUS is the simulated network of TAURUS (CoNEXT 2025, §5.1). The paper states links of 400
// Gb/s and no oversubscription, which contradict each other with 16 hosts and four uplinks per ToR
// switch. Hosts at 100 Gb/s make it non-blocking, hosts at 400 Gb/s 4:1.
func TAURUS(host units.BitRate) Clos { return hpccFat(host) }

func hpccFat(host units.BitRate) Clos {
	up := Link{400 * gbps, us}
	return Clos{Pods: 5, ToRsPerPod: 4, AggsPerPod: 4, HostsPerToR: 16, CoresPerAgg: 4,
		Host: Link{host, us}, ToR: up, Core: up}
}

// TAURUSTestbed is the testbed of TAURUS: two aggregation and two ToR switches, eight servers per
// ToR switch, 400 Gb/s; base RTT 5 µs between hosts of different ToR switches.
func TAURUSTestbed() LeafSpine {
	l := Link{400 * gbps, 610 * ns}
	return LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 8, Host: l, Up: l}
}

// HPCCStar is 65 hosts on one switch (HPCC's topology.txt).
func HPCCStar(p Parts) *Network { return Star(p, 65, Link{100 * gbps, us}) }

// HPCCAli is HPCC's testbed-like network (ali_32host_10rack.txt): ten racks of 32 hosts, each with
// 25 Gb/s to both switches of its rack; 20 ToR and eight spine switches, 100 Gb/s between them.
func HPCCAli(p Parts) *Network {
	n := New(p.Config)
	spines := make([]*Switch, 8)
	for i := range spines {
		spines[i] = n.AddSwitch("spine", p.Switch)
	}
	for range 10 {
		var tors [2]*Switch
		for i := range tors {
			tors[i] = n.AddSwitch("tor", p.Switch)
			for _, s := range spines {
				n.Connect(tors[i], s, Link{100 * gbps, us})
			}
		}
		for range 32 {
			h := n.AddHost(p.Host)
			for _, t := range tors {
				n.Connect(h, t, Link{25 * gbps, us})
			}
		}
	}
	return n
}

// ToCC is the simulated network of ToCC (ToN 2025, §VI): 160 hosts at 100 Gb/s under ten ToR
// switches, four core switches. Uplinks of 100 Gb/s make it 4:1, of 400 Gb/s non-blocking. With
// links of 597 ns the base RTT of a full 1500-byte packet is 5.3 µs, as in the paper.
func ToCC(host, up units.BitRate) LeafSpine {
	return LeafSpine{Leaves: 10, Spines: 4, HostsPerLeaf: 16, Host: Link{host, 597 * ns},
		Up: Link{up, 597 * ns}}
}

// ToCCTestbed is the testbed of ToCC: 32 hosts at 25 Gb/s under two ToR switches, one core switch,
// uplinks of 200 Gb/s.
func ToCCTestbed() LeafSpine {
	return LeafSpine{Leaves: 2, Spines: 1, HostsPerLeaf: 16, Host: Link{25 * gbps, us},
		Up: Link{200 * gbps, us}}
}

// BoltDumbbell is a dumbbell of Bolt (NSDI 2023; its ns-3 scripts): links of 100 Gb/s, 1938 ns.
func BoltDumbbell(p Parts, pairs int) *Network {
	l := Link{100 * gbps, 1938 * ns}
	return Dumbbell(p, pairs, pairs, l, l)
}

// BoltStar is the star of Bolt: 32 hosts, 1048 ns per link, frames of 5000 bytes.
func BoltStar(p Parts) *Network {
	p.MTU = 5000
	return Star(p, 32, Link{100 * gbps, 1048 * ns})
}

// BoltTree is the tree of Bolt: 64 hosts at 100 Gb/s on eight ToR switches. Each ToR switch has
// links to two of eight leaves, each leaf to two of four spines, 400 Gb/s, 315 ns.
func BoltTree(p Parts) *Network {
	n := New(p.Config)
	up := Link{400 * gbps, 315 * ns}
	var spines [4]*Switch
	for i := range spines {
		spines[i] = n.AddSwitch("spine", p.Switch)
	}
	for range 4 { // a pair of ToR switches shares a pair of leaves
		var leaves [2]*Switch
		for i := range leaves {
			leaves[i] = n.AddSwitch("leaf", p.Switch)
			n.Connect(leaves[i], spines[2*i], up)
			n.Connect(leaves[i], spines[2*i+1], up)
		}
		for range 2 {
			tor := n.AddSwitch("tor", p.Switch)
			p.addHosts(n, 8, tor, Link{100 * gbps, 315 * ns})
			for _, leaf := range leaves {
				n.Connect(tor, leaf, up)
			}
		}
	}
	return n
}

// ExpressPass is the network of ExpressPass (SIGCOMM 2017; its ns-2 scripts): 192 hosts, 32 ToR, 16
// aggregation and eight core switches, 10 Gb/s, 4 µs.
func ExpressPass() Clos {
	l := Link{10 * gbps, 4 * us}
	return Clos{Pods: 8, ToRsPerPod: 4, AggsPerPod: 2, HostsPerToR: 6, CoresPerAgg: 4, Host: l,
		ToR: l, Core: l}
}

// Homa is the network of Homa (SIGCOMM 2018): nine racks of 16 hosts, 10 and 40 Gb/s; a switch
// takes 250 ns, and a host 500 ns from reception to transmission, half of it in each direction.
func Homa(p Parts) *Network {
	p.Switch.Delay = 250 * ns
	p.Host.RxDelay, p.Host.TxDelay = 250*ns, 250*ns
	return LeafSpine{Leaves: 9, Spines: 4, HostsPerLeaf: 16, Host: Link{Rate: 10 * gbps},
		Up: Link{Rate: 40 * gbps}}.Build(p)
}

// HPCCSwitch is the switch of HPCC's simulator, from which those of PrioPlus and others derive. Its
// lossless queues may hold alpha times the free buffer. Each queue of each port has a reserve of 4
// KiB, a resume offset of 3 KiB, and headroom for three times the bytes in flight on a link of
// delay link. ecn has the thresholds at 25 Gb/s, which scale with the port's rate.
func HPCCSwitch(buffer units.Bytes, alpha float64, ecn ECN, link units.Duration,
	lossless ...int) SwitchConfig {
	return SwitchConfig{Buffer: buffer, Queues: func(rate units.BitRate) Queues {
		var qs Queues
		for _, i := range lossless {
			qs[i] = Queue{
				Lossless: true, Alpha: alpha, Reserve: 4 * units.KiB, Resume: 3 * units.KiB,
				Headroom: 3 * rate.Bytes(link),
				ECN:      ecn.Scale(float64(rate) / float64(25*gbps)),
			}
		}
		return qs
	}}
}

// Scale returns e with its thresholds multiplied by a factor.
func (e ECN) Scale(by float64) ECN {
	e.Kmin, e.Kmax = units.Bytes(float64(e.Kmin)*by), units.Bytes(float64(e.Kmax)*by)
	return e
}
