//go:build !linux

package taurus

import "runtime"

// ownCore makes the goroutine the only one of its thread.
func ownCore(int) { runtime.LockOSThread() }

// switches returns 0: other systems do not count a thread's.
func switches() int64 { return 0 }
