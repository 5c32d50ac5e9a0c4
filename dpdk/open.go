package dpdk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// Open opens the port that url names (see ParseURL). The first Open of a process starts EAL. The
// device receives when Open returns; Link reports whether its wire is connected.
func Open(url string, opts Options) (*Device, error) {
	u, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if err := startEAL(&u, opts); err != nil {
		return nil, fmt.Errorf("dpdk: open %s: %w", url, err)
	}
	d := &Device{url: u, opts: opts.filled(), removed: make(chan struct{}),
		flows: make(map[*ethdev.Flow]struct{})}
	err = d.control("dpdk: open "+url, func() error {
		reap()
		err := eal.CloseOnExec(d.open)
		if err != nil {
			d.release() // the first error is the one to report
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if d.client != nil {
		go d.client.keepConnected()
	}
	d.warn()
	return d, nil
}

func startEAL(u *URL, o Options) error {
	if eal.Started() {
		return nil
	}
	config := eal.Config{ExtraArgs: o.ExtraEAL}
	if u.Scheme == PCI {
		config.PCI = []string{u.Name}
	}
	err := eal.InitWith(config)
	if errors.Is(err, eal.ErrStarted) {
		return nil // another goroutine was faster
	}
	return err
}

// control runs fn on EAL's main thread or, for the memif driver, on the interrupt thread while the
// main thread waits: that driver handles its peer on the interrupt thread, without locks.
func (d *Device) control(what string, fn func() error) error {
	if d.url.memif() {
		return eal.Call(what, func() error { return eal.OnInterrupt(fn) })
	}
	return eal.Call(what, fn)
}

// open opens the device, inside control; if it fails, release undoes what was done.
func (d *Device) open() error {
	if err := d.url.check(); err != nil {
		return err
	}
	if err := d.chooseMTU(); err != nil {
		return err
	}
	if err := d.attach(); err != nil {
		return err
	}
	var err error
	if d.removal, err = d.port.WatchRemoval(); err != nil {
		return fmt.Errorf("watch for the removal of the device: %w", err)
	}
	info, err := d.port.InfoGet()
	if err != nil {
		return fmt.Errorf("what the device can do: %w", err)
	}
	if d.loop != nil {
		d.shape = loopShape(d.opts, d.loop.pair.queues, d.loop.pair.classes)
	} else {
		d.shape = shapeOf(d.opts, d.url.Scheme, info)
	}
	if err := d.configure(info); err != nil {
		return err
	}
	if err := d.start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := d.address(); err != nil {
		return err
	}
	d.describe(info)
	for i := range d.shape.queues {
		d.queues = append(d.queues, d.newQueue(i))
	}
	return nil
}

// attach adds the device to EAL.
func (d *Device) attach() error {
	if d.url.Scheme == Loop {
		end, err := openLoop(&d.url, d.opts)
		if err != nil {
			return err
		}
		d.loop = &end
		d.port, err = end.attach()
		d.attached = err == nil
		return err
	}
	w := want{queues: d.opts.Queues, mtu: d.mtu}
	err := d.hotPlug(w)
	if err != nil && (d.url.Scheme == AFXDP || d.url.Scheme == AFPacket) {
		// An interface with fewer channels has no AF_XDP queues beyond them; AF_PACKET may lack
		// permission to lock long rings in memory.
		if d.url.Scheme == AFXDP {
			w.queues = 1
		}
		w.few = true
		err = d.hotPlug(w)
	}
	if err != nil {
		return err
	}
	if d.url.Scheme == Memif {
		d.memifs()[d.url.socket()]++
		d.counted = true
	}
	return nil
}

// memifs returns the counters of the memifs with the device's role.
func (d *Device) memifs() map[string]int {
	if d.url.Client {
		return memifClients
	}
	return memifServers
}

// hotPlug attaches the device of any scheme but loop.
func (d *Device) hotPlug(w want) error {
	v := d.url.vdev(nextSerial(string(d.url.Scheme)), w)
	port, err := ethdev.Attach(v.bus, v.name, v.args)
	if err != nil {
		return fmt.Errorf("attach %s: %w", strings.TrimSuffix(v.name+","+v.args, ","), err)
	}
	d.port, d.attached = port, true
	return nil
}

// start lets frames pass, for a memif client as soon as there is a server.
func (d *Device) start() error {
	if d.url.Scheme == Memif {
		for range d.shape.queues {
			d.guards = append(d.guards, ethdev.NewGuard())
		}
		if d.url.Client {
			d.client = d.startMemifClient()
			return nil
		}
	}
	err := d.port.DevStart()
	d.running = err == nil
	return err
}

// address chooses the endpoint's MAC address and makes the device receive for it.
func (d *Device) address() error {
	own, err := d.port.MACAddrGet()
	if err != nil {
		return fmt.Errorf("MAC address: %w", err)
	}
	d.mac = own
	if d.opts.Promiscuous {
		d.listen("promiscuous", d.port.PromiscuousEnable)
		d.promiscuous = true
	}
	if !d.url.ownMAC() || isZero(own) {
		second := d.url.Client || d.loop != nil && d.loop.end == 1
		d.mac = d.url.mac(second)
		if d.url.Scheme != PCI || d.port.MACAddrSet(d.mac) != nil {
			d.listen("promiscuous", d.port.PromiscuousEnable)
			d.promiscuous = true
		}
	}
	d.listen("all multicast", d.port.AllMulticastEnable)
	return nil
}

// listen turns on a receive mode; a driver without the mode receives everything anyway.
func (d *Device) listen(mode string, enable func() error) {
	if err := enable(); err != nil {
		d.opts.Logger.Debug("dpdk: driver has no such mode", "port", d.url.String(),
			"mode", mode, "err", err)
	}
}

// describe fills in what Info returns.
func (d *Device) describe(info ethdev.Info) {
	d.info = packet.Info{
		Name:     d.url.String(),
		Driver:   info.Driver,
		MAC:      packet.MAC(d.mac),
		MTU:      units.Bytes(d.mtu),
		Classes:  d.shape.classes,
		TxDepth:  d.txDepth,
		Reliable: d.loop != nil,

		Timestamps: d.stamps != nil,
	}
	if d.loop != nil {
		d.info.Name = fmt.Sprintf("loop:%s/%d", d.url.Name, d.loop.end)
	}
	if d.url.Scheme == AFPacket || d.url.Scheme == AFXDP {
		d.info.RxCoalescing = rxCoalescing(d.url.Name)
	}
	if link, err := d.port.LinkGetNowait(); err == nil && d.url.Scheme == PCI {
		// virtual drivers report an arbitrary rate
		d.info.LinkRate = units.BitRate(link.Mbps) * units.Mbps
	}
}

// warn logs where the device provides less than was requested.
func (d *Device) warn() {
	log := d.opts.Logger.With("port", d.info.Name, "driver", d.info.Driver)
	if d.shape.queues < d.opts.Queues {
		log.Warn("dpdk: fewer queues than requested", "requested", d.opts.Queues,
			"given", d.shape.queues)
	}
	if d.shape.classes < d.opts.Classes {
		log.Warn("dpdk: classes share a transmit queue", "requested", d.opts.Classes,
			"given", d.shape.classes)
	}
	if d.mtu < d.opts.MTU {
		log.Warn("dpdk: smaller MTU than requested", "requested", d.opts.MTU, "given", d.mtu)
	}
	log.Debug("dpdk: open", "mac", d.info.MAC.String(), "mtu", d.mtu, "queues", d.shape.queues,
		"classes", d.shape.classes, "buffers", d.pool.Size(), "room", d.pool.Room())
}
