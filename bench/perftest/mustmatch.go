package perftest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrMismatch is returned when the ends were started with different settings.
var ErrMismatch = errors.New("the two ends must agree")

// mustMatch returns the settings that must match the peer's, by flag.
func (s *Settings) mustMatch() map[string]string {
	m := s.table(&extras{}).PeerSettings()
	m["test"] = s.Test.Name()
	return m
}

// compare returns an error that lists every flag whose value differs at the peer.
func (s *Settings) compare(theirs map[string]string) error {
	differ := s.table(&extras{}).Differences(s.mustMatch(), theirs)
	if len(differ) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrMismatch, strings.Join(differ, "; "))
}

// peerMTU returns --mtu, if it was given: the default follows the peer.
func (s *Settings) peerMTU() (string, bool) {
	if s.MTU == 0 {
		return "", true
	}
	return strconv.Itoa(s.MTU), true
}

func (s *Settings) peerIters() (string, bool) { return strconv.Itoa(s.Iters), s.Duration == 0 }

func (s *Settings) peerDuration() (string, bool) { return s.Duration.String(), s.Duration > 0 }

func (s *Settings) peerMargin() (string, bool) { return s.Margin.String(), s.Duration > 0 }
