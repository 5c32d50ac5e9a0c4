package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/units"
)

// lineParser returns a Parse function for line-based configurations. The names of a pattern's
// groups are the parameters that they hold: kmin, kmax, headroom, xoff, xon (the offset),
// guaranteed, resume (xoff less xon), both (xoff plus headroom), with suffix _b, _k or _c for
// bytes, kilobytes and cells; pmax; alpha, ratio (H3C's percentage); name, interface, queue,
// priority.
func lineParser(patterns ...string) func([]byte, intent.Chip) ([]*intent.Intent, error) {
	var compiled []*regexp.Regexp
	for _, p := range patterns {
		compiled = append(compiled, regexp.MustCompile(p))
	}
	return func(text []byte, chip intent.Chip) ([]*intent.Intent, error) {
		r := &lineReader{intent: &intent.Intent{Chip: chip}, seen: map[string]string{}}
		for n, line := range strings.Split(string(text), "\n") {
			for _, p := range compiled {
				m := p.FindStringSubmatch(line)
				for g := 1; g < len(m); g++ {
					if m[g] == "" {
						continue
					}
					if err := r.take(p.SubexpNames()[g], m[g]); err != nil {
						return nil, fmt.Errorf("line %d: %w", n+1, err)
					}
				}
			}
		}
		if r.seen["kmax"] == "" {
			return nil, errors.New("no ECN thresholds found")
		}
		if i := r.intent; i.XOFF > 0 {
			if r.both > i.XOFF {
				i.Headroom = r.both - i.XOFF
			}
			if r.seen["resume"] != "" {
				i.XONOffset = i.XOFF - r.resume
			}
			// this xoff is part of the reserve; the PFC threshold above it is dynamic
			if r.seen["alpha"] != "" {
				i.XOFF = 0
			}
		}
		return []*intent.Intent{r.intent}, nil
	}
}

type lineReader struct {
	intent       *intent.Intent
	seen         map[string]string
	both, resume units.Bytes
}

func (r *lineReader) take(group, value string) error {
	i := r.intent
	what, unit, _ := strings.Cut(group, "_")
	if what == "interface" {
		for _, have := range i.Interfaces {
			if have == value {
				return nil
			}
		}
		i.Interfaces = append(i.Interfaces, value)
		return nil
	}
	if before, ok := r.seen[what]; ok && before != value {
		return fmt.Errorf("%s is %s, and was %s before: want the configuration of one layer", what,
			value, before)
	}
	r.seen[what] = value
	switch what {
	case "name":
		i.Name = strings.TrimPrefix(value, prefix)
		return nil
	case "alpha":
		a, err := bytetuning.ParseAlpha(value)
		i.Alpha = a
		return err
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, value, err)
	}
	size := units.Bytes(n)
	switch unit {
	case "k":
		size *= kilobyte
	case "c":
		if i.Chip.Cell <= 0 {
			return fmt.Errorf("%s is %s cells: want the cell size (chip: {cell})", what, value)
		}
		size *= i.Chip.Cell
	}
	switch what {
	case "kmin":
		i.Kmin = size
	case "kmax":
		i.Kmax = size
	case "headroom":
		i.Headroom = size
	case "xoff":
		i.XOFF = size
	case "xon":
		i.XONOffset = size
	case "guaranteed":
		i.Guaranteed = size
	case "both":
		r.both = size
	case "resume":
		r.resume = size
	case "pmax":
		i.Pmax = bytetuning.Percent(n)
	case "queue":
		i.Queue = int(n)
	case "priority":
		i.Priority = int(n)
	case "ratio":
		a, ok := h3cAlpha(int(n))
		if !ok {
			return fmt.Errorf("dynamic %d: want 0 to 100", n)
		}
		i.Alpha = a
	}
	return nil
}
