//go:build !amd64

package goroce

import "time"

var epoch = time.Now()

// cycles stands in for a cycle counter: nanoseconds of the monotonic clock.
func cycles() uint64 { return uint64(time.Since(epoch)) }

// relax has no portable form.
func relax(uint32) {}
