package channels

import (
	"fmt"
	"io"
	"strings"

	"github.com/goroce/goroce/units"
)

// writeHosts says what part of the noise is the hosts', and whether the channels are too narrow for
// it.
func (s *Survey) writeHosts(w io.Writer) {
	h := &s.Hosts
	fmt.Fprintf(w, "%.0f %% of the noise is within poll gaps, and PrioPlus does not act on it; "+
		"gaps: p50 %v, p99 %v here; ",
		100*h.Share, shown(h.Here.P50), shown(h.Here.P99))
	if h.Told {
		fmt.Fprintf(w, "p50 %v, p99 %v at the peer\n", shown(h.There.P50), shown(h.There.P99))
	} else {
		fmt.Fprintln(w, "the peer does not report its own, which count as the fabric's")
	}
	fmt.Fprintf(w, "samples uncertain by more than a channel's width of %v: %d of %d (%.2g %%)\n",
		s.Width, h.Wide, h.Uncertain.Samples, 100*s.Wide())
	if advice := s.Advice(); advice != "" {
		fmt.Fprintln(w, advice)
	}
}

// Wide is the share of samples, from 0 to 1, that are uncertain by more than the width of a
// channel.
func (s *Survey) Wide() float64 {
	return float64(s.Hosts.Wide) / float64(max(1, s.Hosts.Uncertain.Samples))
}

// TooNoisy reports whether poll gaps are too long for the channels: more than one sample in a
// hundred does not tell a channel from the next one.
func (s *Survey) TooNoisy() bool { return s.Hosts.Uncertain.P99 > s.Width }

// Advice says what is wrong with the hosts and what helps; nothing if they are good enough for the
// channels.
func (s *Survey) Advice() string {
	if !s.TooNoisy() {
		return ""
	}
	h := &s.Hosts
	var who []string
	if h.Here.P99 > s.Width || h.There.P99 <= s.Width {
		who = append(who, fmt.Sprintf("this host leaves poll gaps of p99 = %v", shown(h.Here.P99)))
	}
	if h.There.P99 > s.Width || h.Here.P99 <= s.Width {
		who = append(who, fmt.Sprintf("the peer leaves poll gaps of p99 = %v", shown(h.There.P99)))
	}
	text := fmt.Sprintf("TOO NOISY for %d channels of %v: %s. Channels narrower than %v are not "+
		"told apart: polling cores of their own "+
		"(docs/hosts.md), hardware time stamps, or a wider a+b", s.Channels.N(), s.Width,
		strings.Join(who, " and "), round(h.Uncertain.P99))
	if b := s.wideEnough(); b <= widest {
		return fmt.Sprintf("%s (b=%v) help", text, b)
	}
	return text + " help"
}

// wideEnough returns the B with which 99 of 100 samples are uncertain by less than a channel's
// width.
func (s *Survey) wideEnough() units.Duration { return max(s.B, round(s.Hosts.Uncertain.P99-s.A)) }
