package perftest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrMismatch is returned when the ends were started with different settings.
var ErrMismatch = errors.New("the two ends must agree")

// mustMatch returns the settings that must match the peer's, by flag.
func (s *Settings) mustMatch() map[string]string {
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

// compare returns an error that lists every flag whose value differs at the peer.
func (s *Settings) compare(theirs map[string]string) error {
	ours := s.mustMatch()
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
			continue // the default follows the peer
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
