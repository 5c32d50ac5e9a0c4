package perftest

import (
	"errors"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/trace/sqlog"
)

// traceFlags are the flags of the event log.
func (s *Settings) traceFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "trace", Value: &s.Trace,
			Check: func(name string) error { return checkFile(name, s.Trace) },
			Help: "write the events of all queue pairs to this `file`, for bin/roce_trace " +
				"(docs/trace.md; on loop: those of both ends)"},
		{Name: "trace-sample", Value: &s.TraceSample,
			Help: "`share` of packets with events in --trace; rare events are always there"},
	}
}

// withEventLog runs a test with the log of its events, if it has one.
func (s *Settings) withEventLog(c *console, test func() (*session, error)) (x *session, err error) {
	if s.Trace == "" {
		return test()
	}
	s.events, err = sqlog.Create(s.Trace, sqlog.Options{Sample: float64(s.TraceSample),
		Title: s.Test.Name(), Reference: goroce.Epoch()})
	if err != nil {
		return nil, err
	}
	defer func() {
		if n := s.events.Lost(); n > 0 {
			c.note("event log %s: %d events were lost, because they were recorded faster than "+
				"written; lower --trace-sample", s.Trace, n)
		}
		err = errors.Join(err, s.events.Close())
	}()
	return test()
}
