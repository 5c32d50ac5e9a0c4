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

// mostSamples is how long a recording can be.
const mostSamples = 10_000_000

// Replay samples what was recorded: lines of a time since the beginning, in nanoseconds, a comma,
// and a value. Empty lines and those that begin with # are not looked at. A value holds until the
// next one's time, counted from the first sample; before the first there is none.
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
			return nil, fmt.Errorf("hostsense: recording, line %d: %q is no time in ns and a value",
				n, line)
		case ns < 0 || ns > int64(math.MaxInt64/units.Nanosecond)/2:
			return nil, fmt.Errorf("hostsense: recording, line %d: a time of %d ns", n, ns)
		case len(all) == mostSamples:
			return nil, fmt.Errorf("hostsense: recording: more than %d lines", mostSamples)
		}
		at := units.Duration(ns) * units.Nanosecond
		if len(all) > 0 && at < all[len(all)-1].at {
			return nil, fmt.Errorf("hostsense: recording, line %d: %v is before the line above", n,
				at)
		}
		all = append(all, record{at, value})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("hostsense: recording: %w", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("hostsense: recording: nothing in it")
	}
	var begin units.Time
	next, began := 0, false
	return func(now units.Time) (float64, bool) {
		if !began {
			begin, began = now, true
		}
		for next < len(all) && all[next].at <= now.Sub(begin) {
			next++
		}
		if next == 0 {
			return 0, false
		}
		return all[next-1].value, true
	}, nil
}

// Emulated samples a stand-in for the occupancy of the I/O controller on machines that do not show
// theirs (OURS): what waits in a receive ring, in cache lines.
func Emulated(backlog func() units.Bytes, line units.Bytes) Sampler {
	return func(units.Time) (float64, bool) {
		if line <= 0 {
			return 0, false
		}
		return float64(backlog()) / float64(line), true
	}
}
