package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// testbed is a switch with hosts around it in real time: endpoints on DPDK ports, and the fabric's
// network between them. One core polls all of them in turn and reads the clock once a turn.
type testbed struct {
	settings *settings
	net      *fabric.Network
	bridges  []*bridge
	nodes    []*node
	begun    time.Time
	rounds   int
	// of the polling core, in total: gaps between rounds longer than absence
	absent units.Duration
}

// absence is longer than any round takes: another program had the core.
const absence = units.Millisecond

// node is a host's endpoint.
type node struct {
	ep *transport.Endpoint
	pd *transport.ProtectionDomain
	cq *transport.CompletionQueue // for all queue pairs

	flows map[uint64]*flow // by the upper half of their identifiers
	wcs   [32]transport.WorkCompletion
}

// Settings of the network.
const (
	// faster is the factor by which the hosts' links are faster than the receiver's, so that the
	// queue forms at the switch, where all flows meet it.
	faster   = 100
	fastest  = 400 * units.Gbps
	nicDepth = 1 << 16 // frames: back-pressure comes from the hosts' own ports
	buffer   = 64 * units.MiB
)

// newTestbed makes a test bed with a number of senders; the last node is the receiver.
func newTestbed(s *settings, senders int) (_ *testbed, err error) {
	g := &testbed{settings: s, net: fabric.New(fabric.Config{Seed: s.Seed}), begun: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	sw := g.net.AddSwitch("switch", fabric.SwitchConfig{Buffer: buffer})
	for i := range senders + 1 {
		rate := min(s.Rate*faster, fastest)
		if i == senders {
			rate = s.Rate
		}
		h := g.net.AddHost(fabric.HostConfig{TxDepth: nicDepth})
		g.net.Connect(h, sw, fabric.Link{Rate: rate, Delay: s.Delay})
	}
	if err := g.net.Build(); err != nil {
		return nil, err
	}
	for i, h := range g.net.Hosts() {
		c, err := openBridge(fmt.Sprintf("loop:fig8_%d_%d", os.Getpid(), i), h)
		if err != nil {
			return nil, err
		}
		g.bridges = append(g.bridges, c)
		n := &node{flows: map[uint64]*flow{}}
		n.ep, err = transport.New(transport.Config{
			Port: c.near.Queue(0), MAC: c.nic.Info().MAC, Addrs: h.Addrs(),
			Seed: s.Seed + uint64(i),
		}, g.now())
		if err != nil {
			return nil, err
		}
		n.pd = n.ep.AllocPD()
		if n.cq, err = n.ep.CreateCQ(1 << 16); err != nil {
			return nil, err
		}
		g.nodes = append(g.nodes, n)
	}
	return g, nil
}

// bottleneck returns the port of the switch that leads to the receiver.
func (g *testbed) bottleneck() *fabric.Port {
	return g.net.Hosts()[len(g.nodes)-1].NIC().Ports()[0].Peer()
}

func (g *testbed) receiver() *node { return g.nodes[len(g.nodes)-1] }

// now returns the time on the testbed's clock.
func (g *testbed) now() units.Time {
	if round := g.settings.Round; round > 0 {
		return units.Time(0).Add(units.Duration(g.rounds) * round)
	}
	return units.Time(units.FromStd(time.Since(g.begun)))
}

// run polls until step is done. It is the polling core.
func (g *testbed) run(step func(now units.Time) (done bool, err error)) error {
	release, err := dpdk.Register(g.settings.Core)
	if err != nil {
		return err
	}
	defer release()
	if g.settings.Realtime {
		undo, err := realtime()
		if g.settings.competes = err; err == nil {
			defer undo()
		}
	}
	for last := g.now(); ; {
		now := g.now()
		if gap := now.Sub(last); gap > absence {
			g.absent += gap
		}
		last = now
		if err := g.net.Advance(now); err != nil {
			return err
		}
		for i, n := range g.nodes {
			g.bridges[i].deliver()
			n.ep.Poll(now)
			if err := n.reap(now); err != nil {
				return err
			}
			g.bridges[i].admit()
		}
		g.rounds++
		if done, err := step(now); done || err != nil {
			return err
		}
	}
}

// lost returns the number of frames that the switch dropped.
func (g *testbed) lost() int { return int(g.bottleneck().QueueStats(0).Dropped) }

func (g *testbed) close() (err error) {
	for _, n := range g.nodes {
		n.ep.Close()
	}
	for _, c := range g.bridges {
		err = errors.Join(err, c.close())
	}
	return err
}
