package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/packet"
)

func init() {
	register(campaign{
		name:   "memif-kill",
		about:  "one end of a memif is killed while it connects, or under traffic",
		rounds: 80,
		full:   1000,
		run:    runKill,
		peer:   killPeer,
	})
}

// killSpread is within what time the peer is killed.
const killSpread = 20 * time.Millisecond

// runKill keeps a server and a client open, and kills the peer of one of them in each round: half
// of the time once the link is up, else as soon as it may connect.
func runKill(r *run) error {
	var ends [2]*dpdk.Device
	var peers [2]string
	for i := range ends {
		url := "memif:" + filepath.Join(r.dir, fmt.Sprint("s", i))
		urls := []string{url, url + ",client"}
		d, err := dpdk.Open(urls[i], dpdk.Options{})
		if err != nil {
			return err
		}
		defer d.Close()
		ends[i], peers[i] = d, urls[1-i]
	}
	return r.each(func(i int) error {
		d := ends[i%2]
		p, err := r.startPeer(peers[i%2])
		if err != nil {
			return err
		}
		if _, err := p.do("open"); err != nil {
			return err
		}
		if i/2%2 == 0 {
			if err := awaitLink(d, true); err != nil {
				return err
			}
		}
		dead := make(chan struct{})
		time.AfterFunc(rand.N(killSpread), func() {
			p.cmd.Process.Kill()
			close(dead)
		})
		exchange(d.Queue(0), dead)
		r.kill(p)
		return errors.Join(awaitLink(d, false), allHome(d))
	})
}

// killPeer sends back what comes until it is killed.
func killPeer(in *orders, args []string) error {
	in.next()
	d, err := dpdk.Open(args[0], dpdk.Options{})
	if err != nil {
		return err
	}
	in.answer("open")
	q, bufs := d.Queue(0), make([]packet.Buf, packet.Burst)
	ended := make(chan struct{})
	go func() {
		in.next()
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return d.Close()
		default:
			n := q.Recv(bufs)
			q.Free(bufs[q.Send(packet.ClassData, bufs[:n]):n])
		}
	}
}

// exchange sends and receives until the peer is dead, and then some.
func exchange(q *dpdk.Queue, dead <-chan struct{}) {
	const afterwards = 1000
	bufs := make([]packet.Buf, packet.Burst)
	for left := afterwards; left > 0; {
		select {
		case <-dead:
			left--
		default:
		}
		n := q.Alloc(bufs)
		for i := range bufs[:n] {
			bufs[i].SetLen(1000)
		}
		q.Free(bufs[q.Send(packet.ClassData, bufs[:n]):n])
		q.Free(bufs[:q.Recv(bufs)])
	}
}
