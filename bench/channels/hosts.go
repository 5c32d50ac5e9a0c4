package channels

import (
	"fmt"
	"io"
	"strings"

	"github.com/goroce/goroce/units"
)

// writeHosts prints the hosts' share of the noise, and whether the channels are too narrow for it.
func (s *Survey) writeHosts(w io.Writer) {
	h := &s.Hosts
	fmt.Fprintf(w, "%.0f %% of the noise is within poll gaps, and PrioPlus does not act on it; "+
		"gaps: p50 %v, p99 %v here; ",
		100*h.Share, shown(h.Here.P50), shown(h.Here.P99))
	if h.Told {
		fmt.Fprintf(w, "p50 %v, p99 %v at the peer\n", shown(h.There.P50), shown(h.There.P99))
	} else {
		fmt.Fprintln(w, "the peer does not report its gaps, which count as the fabric's")
	}
	fmt.Fprintf(w, "samples uncertain by more than a channel's width of %v: %d of %d (%.2g %%)\n",
		s.Width, h.Wide, h.Uncertain.Samples, 100*s.Wide())
	if advice := s.Advice(); advice != "" {
		fmt.Fprintln(w, advice)
	}
}

// Wide returns the share of samples, from 0 to 1, whose uncertainty exceeds the width of a channel.
func (s *Survey) Wide() float64 {
	return float64(s.Hosts.Wide) / float64(max(1, s.Hosts.Uncertain.Samples))
}

// TooNoisy reports whether poll gaps are too long for the channels: for more than one in a hundred
// samples the uncertainty exceeds the width of a channel.
func (s *Survey) TooNoisy() bool { return s.Hosts.Uncertain.P99 > s.Width }

// Advice returns the problem of the hosts and its remedies, or "" if they are good enough for the
// channels.
func (s *Survey) Advice() string {
	if !s.TooNoisy() {
		return ""
	}
	h := &s.Hosts
	var who []string
	if h.Here.P99 > s.Width || h.There.P99 <= s.Width {
		who = append(who, fmt.Sprintf("this host has poll gaps of p99 = %v", shown(h.Here.P99)))
	}
	if h.There.P99 > s.Width || h.Here.P99 <= s.Width {
		who = append(who, fmt.Sprintf("the peer has poll gaps of p99 = %v", shown(h.There.P99)))
	}
	text := fmt.Sprintf("TOO NOISY for %d channels of %v: %s. Channels narrower than %v cannot be "+
		"distinguished. Use dedicated polling cores (docs/hosts.md), hardware time stamps, or a "+
		"wider a+b", s.Channels.N(), s.Width,
		strings.Join(who, " and "), round(h.Uncertain.P99))
	if b := s.wideEnough(); b <= widest {
		return fmt.Sprintf("%s (b=%v)", text, b)
	}
	return text
}

// wideEnough returns the B for which the uncertainty of 99 of 100 samples is below a channel's
// width.
func (s *Survey) wideEnough() units.Duration { return max(s.B, round(s.Hosts.Uncertain.P99-s.A)) }
