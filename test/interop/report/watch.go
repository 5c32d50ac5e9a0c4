package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goroce/goroce/units"
)

// Glance is the state of our end's congestion control in one second, with the names of
// bench/perftest's --watch_json.
type Glance struct {
	Elapsed float64           `json:"elapsed_s"`
	Goodput float64           `json:"goodput_gbps"`
	Window  units.Bytes       `json:"window_bytes"`
	Rate    float64           `json:"rate_gbps"`
	Delay   float64           `json:"delay_us"`
	Target  float64           `json:"target_us"`
	CNPs    uint64            `json:"cnps"`
	Cuts    map[string]uint64 `json:"cuts"` // by reason, cumulative
}

// ErrUnwatched is returned by Watch for no lines.
var ErrUnwatched = errors.New("no line of --watch_json: the test ran for less than a second")

// Watch parses lines of --watch_json.
func Watch(lines []byte) (all []Glance, err error) {
	for line := range strings.Lines(string(lines)) {
		var g Glance
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			return nil, fmt.Errorf("--watch_json: line %d: %w", len(all)+1, err)
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		return nil, ErrUnwatched
	}
	return all, nil
}

// AllCuts returns the number of cuts for any reason.
func (g Glance) AllCuts() (n uint64) {
	for _, c := range g.Cuts {
		n += c
	}
	return n
}

// String returns the values that matter at the end of a run.
func (g Glance) String() string {
	var parts []string
	if g.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%.0f Mb/s", g.Rate*1e3))
	} else {
		parts = append(parts, fmt.Sprintf("window %v", g.Window))
	}
	if g.Target > 0 {
		parts = append(parts, fmt.Sprintf("delay %.1f of %.1f ms", g.Delay/1e3, g.Target/1e3))
	}
	return strings.Join(append(parts, fmt.Sprintf("cut %d times", g.AllCuts())), ", ")
}
