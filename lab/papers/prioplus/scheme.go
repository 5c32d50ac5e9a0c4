package prioplus

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	port "github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// A scheme is how a network separates flows of several priorities (section 6.2).
type scheme string

const (
	baseline     scheme = "Swift"    // one queue, no priorities
	virtualSwift scheme = "PrioPlus" // around Swift, in one queue
	// the same, and the highest eighth of the priorities has no limit, as in the artifact
	virtualFree    scheme = "PrioPlus, free"
	virtualSameACK scheme = "PrioPlus*"        // the same, with ACKs in the queue of the data
	virtualLEDBAT  scheme = "PrioPlus+LEDBAT"  //
	physical       scheme = "Physical"         // a queue for each priority, Swift
	physicalLEDBAT scheme = "Physical+LEDBAT"  //
	ideal          scheme = "Physical*"        // the same, with headroom that takes no buffer
	idealNoCC      scheme = "Physical* w/o CC" // the same, at line rate
	physicalNoCC   scheme = "Physical w/o CC"  //
	deadlines      scheme = "D2TCP"            // deadlines for priorities, one queue
	telemetry      scheme = "HPCC"             // no priorities, one queue
)

// queues reports whether priorities have queues of their own.
func (s scheme) queues() bool {
	switch s {
	case physical, physicalLEDBAT, ideal, idealNoCC, physicalNoCC:
		return true
	}
	return false
}

// The parameters of a network's priorities.
type priorities struct {
	N     int
	Start string // division of the classes of PrioPlus's channels: parameters of its table
	AI    string // W_AI of Swift; empty means the artifact's 0.0012 BDP
	ACKs  acks
}

// acks says in which queue the ACKs of a scheme travel, and echoes of probes.
type acks int

const (
	acksOnTop acks = iota // those of all schemes above all data
	// The artifact's runs: PrioPlus's above all data, those of other schemes with their data.
	acksPublished
)

// withData reports whether a scheme's ACKs travel in the queue of its data.
func (a acks) withData(s scheme) bool {
	switch s {
	case virtualSameACK:
		return true
	case virtualSwift, virtualFree, virtualLEDBAT:
		return false
	}
	return a == acksPublished
}

// swift returns an algorithm's text with W_AI.
func (p priorities) swift(text string) string {
	if p.AI == "" {
		p.AI = "0.0012BDP"
	}
	return text + ",ai=" + p.AI
}

// ackQueue is the queue of ACKs and echoes of probes above all data.
const ackQueue = fabric.MaxQueues - 1

// classify returns a queue's number from DSCP.
func classify() (queues [64]uint8) {
	for dscp := range queues {
		queues[dscp] = uint8(min(dscp, ackQueue))
	}
	return queues
}

// switches returns the artifact's switches: lossless queues that take a quarter of the free buffer,
// marks between 100 and 400 KiB for each 25 Gb/s. pfc off makes queues lossy, with the same
// thresholds.
func (s scheme) switches(n int, buffer units.Bytes, link fabric.Link, ports int,
	pfc bool) fabric.SwitchConfig {
	if !s.queues() {
		n = 1
	}
	lossless := make([]int, n)
	for i := range lossless {
		lossless[i] = i
	}
	// The artifact's headroom is three times what a link holds; slow links need more.
	headroom := func(r units.BitRate) units.Bytes {
		return max(3*r.Bytes(link.Delay), fabric.Headroom(r, link.Delay, link.Delay,
			packet-unstored, 480))
	}
	if s == ideal || s == idealNoCC {
		buffer += units.Bytes(ports*n) * headroom(link.Rate)
	}
	c := fabric.HPCCSwitch(buffer, 0.25, fabric.ECN{Kmin: 100 * units.KiB, Kmax: 400 * units.KiB,
		Pmax: 0.2}, link.Delay, lossless...)
	of := c.Queues
	c.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		for i := range lossless {
			qs[i].Headroom, qs[i].Lossless = headroom(r), pfc
		}
		qs[ackQueue].Reserve = 4 * units.KiB
		return qs
	}
	c.INT = s == telemetry
	return c
}

// unstored is the part of a packet that takes time on a link but no buffer: preamble and gap.
const unstored = 20

// Swift and LEDBAT with the settings of the artifact's large runs, relative to the path of the
// flow.
const (
	swiftLarge = "swift:base_target=rtt+25us,per_hop=0s,fs_range=100us,fs_min=0.1BDP,fs_max=1BDP," +
		"beta=0.8,max_mdf=0.5,min_cwnd=0.0001BDP"
	swiftInner  = "swift:beta=0.8,max_mdf=0.5,gate_by_delay=true"
	ledbatLarge = "ledbat-dc"
)

// control returns the congestion control of a flow of a priority. ideal is its completion time
// alone.
func (s scheme) control(p priorities, priority int, alone units.Duration) (cc.Factory, error) {
	switch s {
	case idealNoCC, physicalNoCC:
		return parsed("fixed:window=1GB")
	case telemetry:
		return parsed("hpcc")
	case deadlines:
		// From 1.5 times the ideal completion time to 12 times, the highest priority first.
		times := 1.5
		if p.N > 1 {
			times = 12 - 10.5*float64(priority)/float64(p.N-1)
		}
		return parsed(fmt.Sprintf("d2tcp:deadline=%gus", times*alone.Microseconds()))
	case physicalLEDBAT:
		return measured(parsed(ledbatLarge))
	case virtualFree:
		p.Start += ",free=0.125"
		return measured(around(p.swift(swiftInner), p, priority))
	case virtualSwift, virtualSameACK:
		return measured(around(p.swift(swiftInner), p, priority))
	case virtualLEDBAT:
		return measured(around(ledbatLarge, p, priority))
	}
	return measured(parsed(p.swift(swiftLarge)))
}

func parsed(text string) (cc.Factory, error) { return cc.Parse(text) }

// around returns PrioPlus around an algorithm.
func around(inner string, p priorities, priority int) (cc.Factory, error) {
	channels, err := prioplus.ParseChannels(fmt.Sprintf("n=%d%s", p.N, p.Start))
	if err != nil {
		return nil, err
	}
	spec, err := cc.Parse(inner)
	return prioplus.Spec{Inner: spec, Channels: channels, Priority: priority}, err
}

// serve returns how a flow of a priority is served.
func (s scheme) serve(p priorities, priority int, alone units.Duration) (sim.Service, error) {
	control, err := s.control(p, priority, alone)
	service := sim.Service{Control: control, AnswerClass: ackQueue << 2}
	if s.queues() {
		service.TrafficClass, service.Class = uint8(priority)<<2, port.Classes+port.Class(priority)
	}
	if p.ACKs.withData(s) {
		service.AnswerClass = service.TrafficClass
	}
	return service, err
}

// noisy is congestion control with the delay noise of the paper's testbed.
type noisy struct{ cc.Factory }

func measured(c cc.Factory, err error) (cc.Factory, error) { return noisy{c}, err }

// New implements cc.Factory.
func (n noisy) New(path cc.Path) (cc.Algorithm, error) {
	a, err := n.Factory.New(path)
	return &noisyFlow{a, rand.New(rand.NewPCG(uint64(path.Seed), 'n')), false}, err
}

type noisyFlow struct {
	cc.Algorithm
	random *rand.Rand
	whole  bool // the delay in hosts counts as the fabric's
}

// Start implements cc.Starter.
func (n *noisyFlow) Start(now units.Time) cc.Decision {
	if s, ok := n.Algorithm.(cc.Starter); ok {
		return s.Start(now)
	}
	return cc.Decision{Window: units.MiB} // the default of transport
}

// On implements cc.Algorithm.
func (n *noisyFlow) On(ev *cc.Event, now units.Time) cc.Decision {
	if ev.Kind == cc.RTT && ev.Delay > 0 {
		ev.Delay += workload.DelayNoise.Sample(n.random)
		if n.whole {
			ev.Endpoint = 0
		}
	}
	return n.Algorithm.On(ev, now)
}
