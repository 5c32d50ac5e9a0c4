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

// readers is the number of reading goroutines.
const readers = 3

// runWatchClose excludes null:, whose driver in DPDK 22.11 leaks some 380 bytes per port.
func runWatchClose(r *run) error {
	memif := "memif:" + filepath.Join(r.dir, "s")
	urls := []string{"loop:watched", memif, memif + ",client"}
	return r.forEachRound(func(i int) error {
		d, err := dpdk.Open(urls[i%len(urls)], dpdk.Options{})
		if err != nil {
			return err
		}
		errs := make(chan error, readers)
		var reading sync.WaitGroup
		reading.Add(readers)
		for range readers {
			go func() { errs <- readUntilClosed(d, reading.Done) }()
		}
		reading.Wait()
		err = d.Close()
		for range readers {
			err = errors.Join(err, <-errs)
		}
		return err
	})
}

// readUntilClosed reads until the device is closed. It calls begun after the first read.
func readUntilClosed(d *dpdk.Device, begun func()) error {
	for first := true; ; first = false {
		s, err := d.Stats()
		if first {
			begun()
		}
		if errors.Is(err, dpdk.ErrClosed) {
			return nil
		}
		if err == nil && (s.Buffers != dpdk.DefaultBuffers || s.BuffersFree != s.Buffers) {
			err = fmt.Errorf("%d of %d buffers are free, want all", s.BuffersFree, s.Buffers)
		}
		if err != nil {
			return err
		}
		if _, err := d.Link(); err != nil && !errors.Is(err, dpdk.ErrClosed) {
			return err
		}
	}
}
