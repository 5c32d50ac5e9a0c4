package perftest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrMismatch says that the two ends were started with different settings.
var ErrMismatch = errors.New("the two ends must agree")

// symmetric are the settings that both ends must have alike, by the name of their flag.
func (s *Settings) symmetric() map[string]string {
	mtu := ""
	if s.MTU != 0 {
		mtu = strconv.Itoa(s.MTU)
	}
	m := map[string]string{
		"test":              s.Test.Name(),
		"--connection":      s.Connection.String(),
		"--mtu":             mtu,
		"--size":            strconv.Itoa(s.Size),
		"--all":             strconv.FormatBool(s.All),
		"--qp":              strconv.Itoa(s.QPs),
		"--bidirectional":   strconv.FormatBool(s.Bidirectional),
		"--atomic_type":     s.AtomicType.String(),
		"--write_with_imm":  strconv.FormatBool(s.WriteWithImm),
		"--report_gbits":    strconv.FormatBool(s.Gbits),
		"--data_validation": strconv.FormatBool(s.Validate),
		"--queues":          strconv.Itoa(s.Queues),
	}
	if s.Duration > 0 {
		m["--duration"] = s.Duration.String()
		m["--margin"] = s.Margin.String()
	} else {
		m["--iters"] = strconv.Itoa(s.Iters)
	}
	return m
}

// compare names every flag in which the peer differs.
func (s *Settings) compare(theirs map[string]string) error {
	ours := s.symmetric()
	names := map[string]bool{}
	for name := range ours {
		names[name] = true
	}
	for name := range theirs {
		names[name] = true
	}
	var differ []string
	for name := range names {
		a, b := ours[name], theirs[name]
		if a == b || name == "--mtu" && (a == "" || b == "") {
			continue // without --mtu one takes what the other says
		}
		differ = append(differ, fmt.Sprintf("%s is %s here and %s at the peer", name, orNone(a),
			orNone(b)))
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return fmt.Errorf("%w: %s", ErrMismatch, strings.Join(differ, "; "))
}

func orNone(s string) string {
	if s == "" {
		return "not given"
	}
	return s
}
