package sqlog

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a share of a whole as a flag: 1% or 0.01.
type Share float64

// Set parses a share.
func (s *Share) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("%q is not a share, such as 1%% or 0.01, from 0 to 100%%", text)
	}
	*s = Share(v)
	return nil
}

func (s *Share) String() string {
	return strconv.FormatFloat(float64(*s)*100, 'g', -1, 64) + "%"
}

// Type returns the argument's name for --help.
func (s *Share) Type() string { return "share" }
