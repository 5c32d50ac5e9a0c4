package main

import (
	"fmt"
	"time"

	"github.com/goroce/goroce/dpdk"
)

// linkLimit is the time in which a memif must detect its peer. The processes may be stopped for
// measurements meanwhile.
const linkLimit = 2 * time.Minute

// awaitLink waits until the link is up or down, as given.
func awaitLink(d *dpdk.Device, up bool) error {
	for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		link, err := d.Link()
		if err != nil || link.Up == up {
			return err
		}
		if time.Since(began) > linkLimit {
			return fmt.Errorf("link up is %v after %v", link.Up, linkLimit)
		}
	}
}

// checkBuffersFree returns an error unless all buffers of the device are free.
func checkBuffersFree(d *dpdk.Device) error {
	s, err := d.Stats()
	if err == nil && s.BuffersFree != s.Buffers {
		err = fmt.Errorf("%d of %d buffers are free, want all", s.BuffersFree, s.Buffers)
	}
	return err
}
