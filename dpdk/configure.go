package dpdk

import (
	"fmt"
	"net"
	"strconv"

	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/dpdk/mempool"
)

// chooseMTU returns the MTU that the options name, otherwise ours, within the limits of the
// interface or of a memif's slots.
func (d *Device) chooseMTU() error {
	limit, ours := MaxMTU, jumboMTU
	switch d.url.Scheme {
	case AFPacket, AFXDP:
		nic, err := net.InterfaceByName(d.url.Name)
		if err != nil {
			return err
		}
		limit = min(nic.MTU, jumboMTU) // lo has 65536, more than an mbuf holds
	case Memif:
		ours = memifMTU
		if s := d.url.option("bsize"); s != "" {
			size, err := strconv.Atoi(s)
			if err != nil || size-frameOverhead < MinMTU || size-frameOverhead > MaxMTU {
				return fmt.Errorf("bsize=%s is not a number of bytes that a frame fits in", s)
			}
			limit = size - frameOverhead
		}
	case Tap:
		limit = 1500 // the driver stops at a longer frame, whatever the interface's MTU
	case PCI:
		ours = 1500
	}
	d.mtu = ours
	if d.opts.MTU != 0 {
		d.mtu = d.opts.MTU
	}
	d.mtu = min(d.mtu, limit)
	return nil
}

// configure sets up the queues of the device and its pool.
func (d *Device) configure(info ethdev.Info) error {
	mtu := d.mtu
	if info.MaxMTU > 0 {
		mtu = min(mtu, info.MaxMTU)
	}
	if info.MaxFrame > 0 {
		mtu = min(mtu, info.MaxFrame-frameOverhead)
	}
	if d.url.Scheme == PCI {
		d.mtu = mtu // a NIC enforces its limits; virtual drivers report some and ignore them
	}
	stamps := d.opts.Clock != nil && info.RxTimestamps
	conf := ethdev.Conf{RxQ: d.shape.rxq, TxQ: d.shape.txq, MTU: mtu, RxTimestamps: stamps}
	if err := d.port.DevConfigure(conf); err != nil {
		return fmt.Errorf("configure %+v: %w", conf, err)
	}
	if stamps {
		d.findStamps()
	}
	rxd, txd, err := d.port.AdjustRing(defaultDepth, defaultDepth)
	if err != nil {
		return fmt.Errorf("ring sizes: %w", err)
	}
	if d.loop != nil {
		txd = d.loop.pair.depth
	}
	d.txDepth = txd
	if err := d.makePool(info, rxd); err != nil {
		return err
	}
	for q := range d.shape.rxq {
		if err := d.port.RxqSetup(q, rxd, d.pool); err != nil {
			return fmt.Errorf("receive queue %d: %w", q, err)
		}
	}
	for q := range d.shape.txq {
		if err := d.port.TxqSetup(q, txd); err != nil {
			return fmt.Errorf("transmit queue %d: %w", q, err)
		}
	}
	if d.url.Scheme == Tap && d.opts.MTU != 0 {
		return d.port.MTUSet(d.opts.MTU)
	}
	return nil
}

// makePool makes the pool, with buffers that hold a frame of the MTU in one segment.
func (d *Device) makePool(info ethdev.Info, rxd int) error {
	config := mempool.Config{Buffers: d.opts.Buffers, Room: roundUp(d.mtu+frameOverhead, 64)}
	switch d.url.Scheme {
	case AFPacket:
		// The driver requires room for a whole slot, including its header.
		frame, _ := packetRing(d.mtu)
		config.Room = frame
	case PCI, AFXDP:
		config.Buffers += rxd * d.shape.rxq
		config.EALMemory = true
		config.Room = max(config.Room, 2048)
	case Tap:
		config.Buffers += rxd * d.shape.rxq
	}
	config.Room = min(max(config.Room, info.MinRoom), mempool.MaxRoom)
	var err error
	d.pool, err = mempool.CreateMbufPool(fmt.Sprintf("goroce%d", nextSerial("pool")), config)
	return err
}
