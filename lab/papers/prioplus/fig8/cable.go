package main

import (
	"errors"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// cable joins a DPDK port to a host of the network: what arrives at the one leaves by the other.
// The endpoint has the other end of the port's loop.
type cable struct {
	near, far *dpdk.Device // the endpoint's, and ours
	nic       *fabric.NIC
	down, up  way // to the endpoint, and from it
}

// way carries frames from one port to another. What that does not take now waits, as behind a port
// that pushes back; so nothing is lost.
type way struct {
	from, to packet.Port
	in, out  []packet.Buf // received and not copied; copied and not sent
	inRoom   [packet.Burst]packet.Buf
	outRoom  [packet.Burst]packet.Buf
}

// Poll implements fabric.Poller: the host is there, and looked after between two rounds of the
// network.
func (*cable) Poll(now units.Time) units.Time { return now.Add(units.Forever) }

// plug opens both ends of a loop, and puts one into the network.
func plug(url string, h *fabric.Host) (*cable, error) {
	c := &cable{nic: h.NIC()}
	for _, d := range []**dpdk.Device{&c.near, &c.far} {
		device, err := dpdk.Open(url, dpdk.Options{})
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		*d = device
	}
	port := c.far.Queue(0)
	c.down, c.up = way{from: c.nic, to: port}, way{from: port, to: c.nic}
	h.Run(c)
	return c, nil
}

func (c *cable) close() (err error) {
	for _, d := range []*dpdk.Device{c.near, c.far} {
		if d != nil {
			err = errors.Join(err, d.Close())
		}
	}
	return err
}

// deliver takes to the endpoint what has come through the network; admit takes into the network
// what the endpoint sent.
func (c *cable) deliver() { c.down.carry() }
func (c *cable) admit()   { c.up.carry() }

// carry moves what it can. An endpoint's frames come in one class.
func (w *way) carry() {
	for {
		sent := w.to.Send(packet.ClassData, w.out)
		if w.out = w.out[sent:]; len(w.out) > 0 {
			return
		}
		if len(w.in) == 0 {
			w.in = w.inRoom[:w.from.Recv(w.inRoom[:])]
		}
		n := w.to.Alloc(w.outRoom[:len(w.in)])
		if n == 0 {
			return
		}
		w.out = w.outRoom[:n]
		for i := range w.out {
			w.out[i].SetLen(copy(w.out[i].Room(), w.in[i].Data()))
		}
		w.from.Free(w.in[:n])
		w.in = w.in[n:]
	}
}
