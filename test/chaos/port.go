package main

import (
	"fmt"
	"time"

	"github.com/goroce/goroce/dpdk"
)

// linkLimit is how long a memif may take to notice its peer. The processes may be stopped
// meanwhile, for a measurement.
const linkLimit = 2 * time.Minute

// awaitLink waits until the link is up, or down.
func awaitLink(d *dpdk.Device, up bool) error {
	for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		link, err := d.Link()
		if err != nil || link.Up == up {
			return err
		}
		if time.Since(began) > linkLimit {
			return fmt.Errorf("link up: %v, after %v", link.Up, linkLimit)
		}
	}
}

// allHome fails when a buffer of the device is missing.
func allHome(d *dpdk.Device) error {
	s, err := d.Stats()
	if err == nil && s.BuffersFree != s.Buffers {
		err = fmt.Errorf("%d of %d buffers are free", s.BuffersFree, s.Buffers)
	}
	return err
}
