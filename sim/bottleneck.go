package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Bottleneck is the scenario of flows that share one link: each has a sender of its own, and all
// have the same receiver. The first queue of its Result is the link's, in bytes on the link: its
// length divided by the rate is the delay.
type Bottleneck struct {
	Seed uint64
	Rate units.BitRate // of all links
	// of all links except those of senders with DelayOf
	Delay   units.Duration
	DelayOf func(sender int) units.Duration       // unless nil
	Place   func(flow int) (sender, receiver int) // unless nil; no two flows may share both
	HostOf  func(host int, c *fabric.HostConfig)  // unless nil; senders come before receivers
	PathMTU units.Bytes                           // 0 means 1024
	Chunk   units.Bytes                           // longest message of a flow; 0 means 1 MiB
	Timeout uint8                                 // code of the ACK timeout; 0 means 12, 16.8 ms
	Plain   bool                                  // the receiver is any RoCEv2 peer
	// Coalesce is the time for which the receiver collects acknowledgements into one ACK.
	Coalesce   units.Duration
	Controller func(host int, now units.Time) (cc.Controller, error) // see Scheme

	ECN    fabric.ECN
	ECNOf  map[uint8]fabric.ECN // of flows of a DSCP, in place of ECN
	Bolt   fabric.Bolt          // when Bolt controls a flow; the zero value means sim.Bolt
	CNPs   units.Duration       // minimum time between CNPs of a flow; 0 means transport's default
	Buffer units.Bytes          // of a switch; 0 means no limit
	Switch *fabric.SwitchConfig // unless nil, in place of Buffer, ECN, ECNOf and Bolt
	// Tokens, unless 0, is the queue of TOKENs. With several receivers, and so two switches, the
	// second queue of the Result is the one for TOKENs on the way back.
	Tokens int

	Until    units.Duration
	Interval units.Duration // of the goodput; 0 means 20 µs
	// Prepare, unless nil, is called at time zero.
	Prepare func(*Simulation)
	// Jitter, Noise and KeepGaps have the meaning they have in Workload.
	Jitter   units.Duration
	Noise    func(*rand.Rand) units.Duration
	KeepGaps bool
}

// Warm is the time before time zero at which the connections of declared flows, and with them their
// algorithms, are made.
const Warm = warm

// TokenFrame is the length of a TOKEN on a link.
const TokenFrame = Overhead + 12

// unstored is the part of a packet's length on a link that takes no room in a switch's buffer.
const unstored = 20

// linkBytes is the difference between a packet's length on a link and in a switch's buffer.
func linkBytes(packet units.Bytes) float64 { return float64(packet) / float64(packet-unstored) }

// Run runs flows through the bottleneck until all have ended or stopped, or the time is over. Place
// overwrites From and To.
func (b Bottleneck) Run(ctx context.Context, flows []Flow) (*Result, error) {
	s, err := b.Scenario(flows)
	if err != nil {
		return nil, err
	}
	return s.Run(ctx)
}

// Scenario returns the scenario of flows through the bottleneck.
func (b Bottleneck) Scenario(flows []Flow) (Scenario, error) {
	b.fill()
	flows = slices.Clone(flows)
	at, err := b.place(flows)
	if err != nil {
		return Scenario{}, err
	}
	queues := []QueueProbe{{Port: at.senders, Scale: linkBytes(b.PathMTU + Overhead)}}
	if b.Tokens > 0 && at.receivers > 1 {
		queues = append(queues,
			QueueProbe{Switch: 1, Queue: b.Tokens, Scale: linkBytes(TokenFrame)})
	}
	tokens := slices.ContainsFunc(flows, func(f Flow) bool { return f.Admission != nil })
	return Scenario{
		Topology: bottleneck{b, at},
		Hosts: Hosts{
			// A nanosecond into a host, so that there is an endpoint delay.
			Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, MachineOf: b.HostOf,
			PathMTU: b.PathMTU, Chunk: b.Chunk, Timeout: b.Timeout,
			Plain: b.Plain,
		},
		Scheme: Scheme{
			Controller: b.Controller, CNPInterval: b.CNPs, AnswerClass: ReplyDSCP << 2,
			Selective: tokens, Switch: b.switches(flows),
		},
		Workload: Workload{Flows: flows, Jitter: b.Jitter, Noise: b.Noise, KeepGaps: b.KeepGaps},
		Probes: Probes{
			Queues: queues, Goodput: b.Interval, Attach: b.Prepare,
			Buffers: 10 * units.Microsecond,
		},
		Seed: b.Seed, Until: b.Until, Step: 10 * units.Microsecond,
	}, nil
}

func (b *Bottleneck) fill() {
	if b.PathMTU == 0 {
		b.PathMTU = units.KiB
	}
	if b.Timeout == 0 {
		b.Timeout = 12
	}
}

// Capacity returns the payload, in bits per second, that a link carries.
func (b Bottleneck) Capacity() float64 {
	b.fill()
	return Capacity(b.Rate, b.PathMTU)
}

// BaseRTT returns the round-trip time of a full packet and its ACK through links of Delay.
func (b Bottleneck) BaseRTT() units.Duration {
	b.fill()
	net := bottleneck{b, places{senders: 1, receivers: 1}}.Build(fabric.Parts{
		Config: fabric.Config{Seed: b.Seed, MTU: LinkMTU},
		Host:   fabric.HostConfig{RxDelay: units.Nanosecond}, HostOf: b.HostOf,
	})
	return net.BaseRTT(0, 1, b.PathMTU+dataOverhead, dataOverhead+wire.AETHLen)
}

// places returns the numbers of sending and of receiving hosts.
type places struct{ senders, receivers int }

// place assigns hosts to flows: first the senders, then the receivers.
func (b *Bottleneck) place(flows []Flow) (at places, err error) {
	place := b.Place
	if place == nil {
		place = func(flow int) (int, int) { return flow, 0 }
	}
	for i := range flows {
		sender, receiver := place(i)
		at.senders, at.receivers = max(at.senders, sender+1), max(at.receivers, receiver+1)
	}
	taken := map[[2]int]int{}
	for i := range flows {
		f := &flows[i]
		sender, receiver := place(i)
		f.From, f.To = sender, at.senders+receiver
		from, to := f.ends()
		if other, there := taken[[2]int{from, to}]; there {
			return at, fmt.Errorf("sim: flows %d and %d are both from host %d to host %d", other, i,
				from, to)
		}
		taken[[2]int{from, to}] = i
	}
	return at, nil
}

// switches returns the configuration of the bottleneck's switches.
func (b *Bottleneck) switches(flows []Flow) fabric.SwitchConfig {
	if b.Switch != nil {
		return *b.Switch
	}
	var queues fabric.Queues
	queues[0].ECN, queues[0].ECNOf = b.ECN, b.ECNOf
	if slices.ContainsFunc(flows, func(f Flow) bool { return f.Control.Name() == "bolt" }) {
		if queues[0].Bolt = b.Bolt; b.Bolt.Frame == 0 {
			queues[0].Bolt = Bolt(b.PathMTU)
		}
	}
	return fabric.SwitchConfig{Buffer: b.Buffer, Queues: queues.At(), INT: true}
}

// bottleneck is a star whose last host receives, or two switches, one with the senders and one with
// the receivers. The bottleneck is the first switch's link away from its senders.
type bottleneck struct {
	Bottleneck
	places
}

// Build implements Topology.
func (b bottleneck) Build(p fabric.Parts) *fabric.Network {
	net := fabric.New(p.Config)
	link := fabric.Link{Rate: b.Rate, Delay: b.Delay}
	near := net.AddSwitch("switch", p.Switch)
	for i := range b.senders {
		own := link
		if b.DelayOf != nil {
			own.Delay = b.DelayOf(i)
		}
		net.Connect(p.AddHost(net), near, own)
	}
	p.Host.CPU.PerPoll = b.Coalesce
	if b.receivers == 1 {
		net.Connect(p.AddHost(net), near, link)
		return net
	}
	far := net.AddSwitch("far switch", p.Switch)
	net.Connect(near, far, link)
	for range b.receivers {
		net.Connect(p.AddHost(net), far, link)
	}
	return net
}
