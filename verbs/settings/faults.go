package settings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goroce/goroce/packet"
)

// ParseFaults parses faults such as loss=0.1%,dup=0.01,corrupt=1e-4,delay=1%,seed=7: the
// probabilities that a frame is lost, comes twice, has a bit inverted, and comes after the three
// that follow it. They apply to what is sent and to what is received. The same seed and frames have
// the same faults.
func ParseFaults(text string) (o packet.FaultOptions, err error) {
	if text == "" {
		return o, nil
	}
	rates := map[string]*float64{"loss": &o.Send.Lose, "dup": &o.Send.Duplicate,
		"corrupt": &o.Send.Corrupt, "delay": &o.Send.Delay}
	total := 0.0
	for item := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(item, "=")
		if key == "seed" {
			if o.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
				return o, fmt.Errorf("faults: seed %q is not a number", value)
			}
			continue
		}
		rate, ok := rates[key]
		if !ok {
			return o, fmt.Errorf("faults: %q, want loss, dup, corrupt, delay or seed", key)
		}
		if *rate, err = probability(value); err != nil {
			return o, fmt.Errorf("faults: %s: %w", key, err)
		}
	}
	for _, rate := range rates {
		total += *rate
	}
	if total > 1 {
		return o, fmt.Errorf("faults: probabilities sum to %v, want at most 1", total)
	}
	o.Recv = o.Send
	return o, nil
}

// probability parses a number from 0 to 1, or a percentage.
func probability(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("probability %q, want 0 to 1 or a percentage", text)
	}
	return p, nil
}
