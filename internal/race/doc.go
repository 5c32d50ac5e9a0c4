// Package race reports to tests whether they run under the race detector, which slows simulations
// tenfold.
//
// It imports only testing. Only tests import it.
package race

import "testing"

// Short reports whether a test should be short: as requested by -short, or because of the race
// detector.
func Short() bool { return enabled || testing.Short() }
