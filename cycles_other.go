//go:build !amd64

package goroce

import "time"

var epoch = time.Now()

// cycles returns nanoseconds of the monotonic clock in place of a cycle counter.
func cycles() uint64 { return uint64(time.Since(epoch)) }

// relax does nothing: PAUSE has no portable equivalent.
func relax(uint32) {}
