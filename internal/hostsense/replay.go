package hostsense

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// maxSamples is the maximum number of samples in a recording.
const maxSamples = 10_000_000

// Replay returns a Sampler of a recording: lines of a time in nanoseconds since the start, a comma,
// and a value. Empty lines and lines that start with # are ignored. Time starts at the first
// sample. A value is valid until the time of the next one; before the first one there is none.
func Replay(r io.Reader) (Sampler, error) {
	type record struct {
		at    units.Duration
		value float64
	}
	var all []record
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		when, what, ok := strings.Cut(line, ",")
		ns, err := strconv.ParseInt(strings.TrimSpace(when), 10, 64)
		value, err2 := strconv.ParseFloat(strings.TrimSpace(what), 64)
		switch {
		case !ok || err != nil || err2 != nil || math.IsNaN(value) || math.IsInf(value, 0):
			return nil, fmt.Errorf("hostsense: recording, line %d: %q: want a time in ns and a "+
				"value", n, line)
		case ns < 0 || ns > int64(math.MaxInt64/units.Nanosecond)/2:
			return nil, fmt.Errorf("hostsense: recording, line %d: time %d ns out of range", n, ns)
		case len(all) == maxSamples:
			return nil, fmt.Errorf("hostsense: recording: want at most %d samples", maxSamples)
		}
		at := units.Duration(ns) * units.Nanosecond
		if len(all) > 0 && at < all[len(all)-1].at {
			return nil, fmt.Errorf("hostsense: recording, line %d: %v: want ascending times", n,
				at)
		}
		all = append(all, record{at, value})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("hostsense: recording: %w", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("hostsense: recording: empty")
	}
	var start units.Time
	next, started := 0, false
	return func(now units.Time) (float64, bool) {
		if !started {
			start, started = now, true
		}
		for next < len(all) && all[next].at <= now.Sub(start) {
			next++
		}
		if next == 0 {
			return 0, false
		}
		return all[next-1].value, true
	}, nil
}

// Emulated returns a Sampler that emulates the occupancy of the I/O controller on machines that do
// not expose it: the backlog of a receive ring in cache lines. It is ours, not hostCC's.
func Emulated(backlog func() units.Bytes, line units.Bytes) Sampler {
	return func(units.Time) (float64, bool) {
		if line <= 0 {
			return 0, false
		}
		return float64(backlog()) / float64(line), true
	}
}
