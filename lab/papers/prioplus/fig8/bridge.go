package main

import (
	"errors"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// bridge joins a DPDK port to a host of the network: it sends on one side what it receives on the
// other. The endpoint has the other end of the port's loop.
type bridge struct {
	near, far *dpdk.Device // the endpoint's, and ours
	nic       *fabric.NIC
	down, up  direction // to the endpoint, and from it
}

// direction forwards frames from one port to another. It holds frames that the other port does not
// accept now, as behind a port with back-pressure, so that nothing is lost.
type direction struct {
	from, to packet.Port
	in, out  []packet.Buf // received and not copied; copied and not sent
	inRoom   [packet.Burst]packet.Buf
	outRoom  [packet.Burst]packet.Buf
}

// Poll implements fabric.Poller. It does nothing: the test bed serves the host between two rounds
// of the network.
func (*bridge) Poll(now units.Time) units.Time { return now.Add(units.Forever) }

// openBridge opens both ends of a loop, and connects one to the network.
func openBridge(url string, h *fabric.Host) (*bridge, error) {
	c := &bridge{nic: h.NIC()}
	for _, d := range []**dpdk.Device{&c.near, &c.far} {
		device, err := dpdk.Open(url, dpdk.Options{})
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		*d = device
	}
	port := c.far.Queue(0)
	c.down, c.up = direction{from: c.nic, to: port}, direction{from: port, to: c.nic}
	h.Run(c)
	return c, nil
}

func (c *bridge) close() (err error) {
	for _, d := range []*dpdk.Device{c.near, c.far} {
		if d != nil {
			err = errors.Join(err, d.Close())
		}
	}
	return err
}

// deliver forwards frames from the network to the endpoint; admit forwards the endpoint's frames to
// the network.
func (c *bridge) deliver() { c.down.forward() }
func (c *bridge) admit()   { c.up.forward() }

// forward moves as many frames as it can. An endpoint's frames come in one class.
func (w *direction) forward() {
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
