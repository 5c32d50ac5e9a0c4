package dpdk

import (
	"os"
	"sync"
	"time"
)

// A memif client looks for its server every memifRetry. A connection completes within handshakes
// retries, or is given up.
// gives a connection that many looks to complete.
const (
	memifRetry = 20 * time.Millisecond
	handshakes = 10
)

// memifClient keeps a memif client connected. The driver does not: it fails to start without a
// server, and stays disconnected when the server closes or was not ready.
type memifClient struct {
	device *Device // its guards are shut while it is stopped
	once   sync.Once
	stop   chan struct{} // closed once
	ended  chan struct{}
}

// startMemifClient starts the device if there is a server; otherwise keepConnected starts it later.
func (d *Device) startMemifClient() *memifClient {
	c := &memifClient{device: d, stop: make(chan struct{}), ended: make(chan struct{})}
	c.shut()
	c.restart()
	return c
}

// end stops the restarts and waits for one in progress.
func (c *memifClient) end() {
	c.once.Do(func() { close(c.stop) })
	<-c.ended
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

// restart stops the device and starts it again, inside control. The guards are shut while it is
// stopped.
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
	defer close(c.ended)
	tick := time.NewTicker(memifRetry)
	defer tick.Stop()
	for down := 0; ; {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		d := c.device
		if d.alive() != nil {
			return
		}
		link, err := d.port.LinkGetNowait()
		if err == nil && link.Up {
			down = 0
			continue
		}
		if down++; down < handshakes && d.running {
			continue
		}
		down = 0
		if err := d.control("dpdk: reconnect "+d.url.String(), c.restart); err != nil {
			d.opts.Logger.Debug("dpdk: no memif server yet", "err", err)
		}
	}
}
