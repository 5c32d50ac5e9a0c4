// Package race reports to tests whether they run under the race detector, which slows simulations
// tenfold.
//
// It imports only testing. Only tests import it.
package race

import "testing"

// Short reports whether a test should be short: as requested by -short, or because of the race
// detector.
func Short() bool { return enabled || testing.Short() }

// OneGoroutine skips a test of one goroutine where tests should be short: under the race detector
// it takes minutes.
func OneGoroutine(t *testing.T) {
	t.Helper()
	if Short() {
		t.Skip("one goroutine: the race detector takes minutes and cannot find anything")
	}
}
