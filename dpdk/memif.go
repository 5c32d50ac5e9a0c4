package dpdk

import (
	"os"
	"time"

	"github.com/goroce/goroce/dpdk/eal"
)

// How a memif client looks for its server. A connection is given handshakes looks to come about.
const (
	memifRetry = 20 * time.Millisecond
	handshakes = 10
)

// memifClient keeps a memif client connected, which the driver does not: it fails to start when
// there is no server, and stays disconnected when the server goes or was not ready.
type memifClient struct {
	device *Device // whose guards are shut while it is stopped
	stop   chan struct{}
}

// startMemifClient starts the device now or as soon as there is a server.
func (d *Device) startMemifClient() {
	c := &memifClient{device: d, stop: make(chan struct{})}
	c.shut()
	d.client = c
	c.restart()
	go c.keepConnected()
}

func (c *memifClient) shut() {
	for _, g := range c.device.guards {
		g.Shut()
	}
}

func (c *memifClient) open() {
	for _, g := range c.device.guards {
		g.Open()
	}
}

// restart stops the device and starts it again, on EAL's main thread. The guards are shut
// whenever it is stopped.
func (c *memifClient) restart() error {
	d := c.device
	if d.running {
		c.shut()
		if err := d.port.DevStop(); err != nil {
			c.open()
			return err
		}
		d.running = false
	}
	if _, err := os.Stat(d.url.Name); err != nil && d.url.inFileSystem() {
		return err
	}
	if err := d.port.DevStart(); err != nil {
		return err
	}
	d.running = true
	c.open()
	return nil
}

// keepConnected restarts the device whenever it has been without a server for a while.
func (c *memifClient) keepConnected() {
	tick := time.NewTicker(memifRetry)
	defer tick.Stop()
	for down := 0; ; {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		err := eal.Call("dpdk: reconnect "+c.device.url.String(), func() error {
			d := c.device
			if d.closed.Load() {
				return nil
			}
			link, err := d.port.LinkGetNowait()
			if err != nil || link.Up {
				down = 0
				return err
			}
			if down++; d.running && down < handshakes {
				return nil
			}
			down = 0
			return c.restart()
		})
		if err != nil {
			c.device.opts.Logger.Debug("dpdk: no memif server yet", "err", err)
		}
	}
}
