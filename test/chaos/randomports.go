package main

import (
	"errors"
	"math/rand/v2"
	"path/filepath"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/packet"
)

func init() {
	register(campaign{
		name: "random-ports",
		about: "ports of every kind open, carry frames and close in any order, and processes at " +
			"their other ends are killed",
		rounds: 100,
		full:   2000,
		run:    runRandomPorts,
		peer:   killPeer,
	})
}

const (
	randomSteps = 40 // of a round: each opens or closes a port
	peerRounds  = 8  // one round in so many has another process, which is killed in the midst
)

// randomPorts are the ports of a round; nil are closed.
type randomPorts struct {
	urls []string
	open []*dpdk.Device
}

// runRandomPorts closes all ports at the end of each round, so that what is left can be measured.
func runRandomPorts(r *run) error {
	// The driver has one socket for a path: no process should have both ends of a memif.
	here, nowhere, there := "memif:"+filepath.Join(r.dir, "here"), "memif:"+filepath.Join(r.dir,
		"nowhere"), "memif:"+filepath.Join(r.dir, "there")
	urls := []string{"loop:random", "loop:random", here, nowhere + ",client", there}
	return r.each(func(i int) error {
		p := &randomPorts{urls, make([]*dpdk.Device, len(urls))}
		var other *peer
		if i%peerRounds == 0 {
			var err error
			if other, err = r.startPeer(there + ",client"); err != nil {
				return err
			}
			if _, err := other.do("open"); err != nil {
				return err
			}
		}
		var err error
		for step := range randomSteps {
			if step == randomSteps/2 && other != nil {
				r.kill(other)
			}
			p.exchange()
			err = errors.Join(err, p.step(rand.IntN(len(urls))))
		}
		for port, d := range p.open {
			if d != nil {
				err = errors.Join(err, p.step(port))
			}
		}
		return err
	})
}

// step opens the port if it is closed, else it closes it.
func (p *randomPorts) step(port int) error {
	if d := p.open[port]; d != nil {
		p.open[port] = nil
		return d.Close()
	}
	d, err := dpdk.Open(p.urls[port], dpdk.Options{})
	p.open[port] = d
	return err
}

// exchange sends a burst from every port, and receives what came.
func (p *randomPorts) exchange() {
	bufs := make([]packet.Buf, packet.Burst)
	for _, d := range p.open {
		if d == nil {
			continue
		}
		q := d.Queue(0)
		n := q.Alloc(bufs)
		for i := range bufs[:n] {
			bufs[i].SetLen(1000)
		}
		q.Free(bufs[q.Send(packet.ClassData, bufs[:n]):n])
		q.Free(bufs[:q.Recv(bufs)])
	}
}
