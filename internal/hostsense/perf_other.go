//go:build !linux

package hostsense

// Count returns an Absent error: counters are read through Linux's perf_event.
func (h *Host) Count(e Event, _ int) (*Counter, error) {
	return nil, &Absent{"perf_event counter of " + e.String(), "not Linux"}
}

// Read returns an Absent error.
func (c *Counter) Read() (uint64, error) {
	return 0, &Absent{"perf_event counters", "not Linux"}
}

// Close does nothing.
func (c *Counter) Close() error { return nil }
