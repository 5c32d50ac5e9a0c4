package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/goroce/goroce/dpdk"
)

func init() {
	register(campaign{
		name:   "watch-close",
		about:  "counters and link are read while a port closes",
		rounds: 2000,
		full:   10000,
		run:    runWatchClose,
	})
}

// watchers is how many goroutines read.
const watchers = 3

// runWatchClose does without null:, whose driver in DPDK 22.11 loses some 380 bytes each time.
func runWatchClose(r *run) error {
	memif := "memif:" + filepath.Join(r.dir, "s")
	urls := []string{"loop:watched", memif, memif + ",client"}
	return r.each(func(i int) error {
		d, err := dpdk.Open(urls[i%len(urls)], dpdk.Options{})
		if err != nil {
			return err
		}
		errs := make(chan error, watchers)
		var reading sync.WaitGroup
		reading.Add(watchers)
		for range watchers {
			go func() { errs <- watch(d, reading.Done) }()
		}
		reading.Wait()
		err = d.Close()
		for range watchers {
			err = errors.Join(err, <-errs)
		}
		return err
	})
}

// watch reads until the device is closed. It calls begun after the first time.
func watch(d *dpdk.Device, begun func()) error {
	for first := true; ; first = false {
		s, err := d.Stats()
		if first {
			begun()
		}
		if errors.Is(err, dpdk.ErrClosed) {
			return nil
		}
		if err == nil && (s.Buffers != dpdk.DefaultBuffers || s.BuffersFree != s.Buffers) {
			err = fmt.Errorf("%d of %d buffers are free", s.BuffersFree, s.Buffers)
		}
		if err != nil {
			return err
		}
		if _, err := d.Link(); err != nil && !errors.Is(err, dpdk.ErrClosed) {
			return err
		}
	}
}
