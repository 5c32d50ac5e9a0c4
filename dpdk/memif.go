package dpdk

import (
	"os"
	"time"

	"github.com/goroce/goroce/dpdk/eal"
)

// memifRetry is how often a memif client looks for its server.
const memifRetry = 20 * time.Millisecond

// start lets frames pass. A memif client whose server is not there yet starts later: until then
// its queues are silent and its link is down.
func (d *Device) start() error {
	err := d.port.DevStart()
	switch {
	case err == nil:
		d.running = true
		d.ready.Store(true)
	case d.url.Scheme == Memif && d.url.Client:
		go d.awaitServer()
		return nil
	}
	return err
}

// awaitServer tries again until there is a server, or the device is closed.
func (d *Device) awaitServer() {
	for !d.ready.Load() && !d.closed.Load() {
		time.Sleep(memifRetry)
		if _, err := os.Stat(d.url.Name); err != nil {
			continue
		}
		err := eal.Call("dpdk: connect "+d.url.String(), func() error {
			if d.closed.Load() {
				return nil
			}
			if err := d.port.DevStart(); err != nil {
				return err
			}
			d.running = true
			d.ready.Store(true)
			return nil
		})
		if err != nil {
			d.opts.Logger.Debug("dpdk: no memif server yet", "err", err)
		}
	}
}
