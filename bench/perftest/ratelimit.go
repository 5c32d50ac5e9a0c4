package perftest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/units"
)

// rateLimit holds the flags of perftest's rate limiter.
type rateLimit struct {
	rate  float64 // 0: none
	unit  string
	kind  string
	burst int // 0: unset
}

// Kinds of rate limiters. HW limits each queue pair, by the transport's pacing; SW limits the
// posting of all queue pairs of an endpoint together.
const (
	limitHW = "HW"
	limitSW = "SW"
	limitPP = "PP" // HW, with rates in Kb/s
)

func (s *Settings) rateFlags() []cli.Flag {
	absent := s.Test.Kind == Latency
	return []cli.Flag{
		{Name: "rate_limit", Value: &s.Limit.rate, Bounds: cli.AtLeast(0), Absent: absent,
			NoDefault: true, Help: "maximum `rate` of a queue pair, in --rate_units"},
		{Name: "rate_units", Value: &s.Limit.unit, Check: s.checkRateUnits, Absent: absent,
			NoDefault: true, Help: "`unit` of --rate_limit: g, Gb/s; M, MiB/s; p, messages/s"},
		{Name: "rate_limit_type", Value: &s.Limit.kind, Check: s.checkRateType, Absent: absent,
			NoDefault: true,
			Help: "`limiter`: HW, the transport paces each queue pair; PP, the same in Kb/s; SW, " +
				"the program posts no faster, over all queue pairs of a core (default HW)"},
		{Name: "burst_size", Value: &s.Limit.burst, Bounds: cli.Within(0, maxPostList),
			Absent: absent, NoDefault: true,
			Help: "`messages` that SW posts at once (default --post_list)"},
	}
}

func (s *Settings) checkRateUnits(name string) error {
	if !strings.Contains("Mgp", s.Limit.unit) || len(s.Limit.unit) > 1 {
		return fmt.Errorf("%s %s: want g (Gb/s), M (MiB/s) or p (messages/s)", name, s.Limit.unit)
	}
	return nil
}

func (s *Settings) checkRateType(name string) error {
	switch s.Limit.kind {
	case "", limitHW, limitSW, limitPP:
		return nil
	}
	return fmt.Errorf("%s %s: want HW, SW or PP", name, s.Limit.kind)
}

// validateRate checks the rate limiter's flags against each other and against --cc, and makes HW
// the congestion control of the queue pairs.
func (s *Settings) validateRate(p *problems, otherControl bool) {
	l := &s.Limit
	if l.rate == 0 {
		p.when(l.kind != "" || l.unit != "" || l.burst > 0,
			"--rate_limit_type, --rate_units, --burst_size: no rate; add --rate_limit")
		return
	}
	if l.kind == limitSW {
		return
	}
	p.when(l.unit == "p", "--rate_units p: the transport paces bytes; add --rate_limit_type SW")
	p.when(otherControl, "--rate_limit: --cc sets the rate of each queue pair; add "+
		"--rate_limit_type SW")
	p.when(l.burst > 0, "--burst_size %d: the transport sends packet by packet; add "+
		"--rate_limit_type SW", l.burst)
	spec, err := l.control()
	p.when(err != nil, "--rate_limit %g: %w", l.rate, err)
	if err == nil && !otherControl {
		s.Congestion = algorithms{spec}
	}
}

// control returns the congestion control of a queue pair with the rate: a fixed window that is
// paced.
func (l *rateLimit) control() (cc.Spec, error) {
	rate := units.BitRate(l.bits())
	if rate < 1 {
		return cc.Spec{}, errors.New("want at least 1 b/s")
	}
	return cc.Parse(fmt.Sprintf("fixed:window=%v,rate=%v", endpoint.DefaultWindow, rate))
}

// bits returns the rate in bit/s.
func (l *rateLimit) bits() float64 {
	switch {
	case l.kind == limitPP:
		return l.rate * 1e3
	case l.unit == "M":
		return l.rate * 8 * (1 << 20)
	}
	return l.rate * 1e9
}

// lateRound is how late a round of the polling core may be without loss of rate.
const lateRound = units.Millisecond

// limiter spaces the posting of messages, for SW.
type limiter struct {
	rate, most float64 // messages/s, and at once
	credit     float64
	last       units.Time
}

// newLimiter returns the limiter of a sender of messages of a size, nil without one.
func (s *Settings) newLimiter(size int) *limiter {
	l := &s.Limit
	if l.rate == 0 || l.kind != limitSW {
		return nil
	}
	rate := l.rate
	if l.unit != "p" {
		rate = l.bits() / 8 / float64(size)
	}
	rate /= float64(s.Queues)
	return &limiter{rate: rate, most: max(float64(max(l.burst, s.PostList)),
		rate*lateRound.Seconds())}
}

// allowed returns how many messages may be posted now.
func (l *limiter) allowed(now units.Time) int {
	if l.last != 0 {
		l.credit = min(l.credit+now.Sub(l.last).Seconds()*l.rate, l.most)
	} else {
		l.credit = l.most
	}
	l.last = now
	return int(l.credit)
}
