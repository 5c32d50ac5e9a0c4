package observe

import (
	"errors"
	"fmt"
	"io"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/metrics"
	"github.com/goroce/goroce/trace/sqlog"
)

// Flags are the values of the flags.
type Flags struct {
	Metrics string // address of the server; "": none
	Trace   string // file of the event log; "": none
	Sample  sqlog.Share
}

// Table declares the flags, and sets their defaults.
func (f *Flags) Table() []cli.Flag {
	f.Sample = 1
	return []cli.Flag{
		{Name: "metrics", Value: &f.Metrics, Check: func(name string) error {
			return metrics.CheckAddr(name, f.Metrics)
		}, Help: metrics.FlagHelp},
		{Name: "trace", Value: &f.Trace,
			Help: "write the events of all queue pairs to this `file`, for bin/roce_trace " +
				"(docs/trace.md)"},
		{Name: "trace-sample", Value: &f.Sample,
			Help: "`share` of packets with events in --trace; rare events are always there"},
	}
}

// Observer serves metrics and writes an event log, as the flags say. A nil Observer does neither.
type Observer struct {
	server *metrics.Server
	log    *sqlog.Log
}

// Start starts an Observer of a program.
func (f *Flags) Start(program string) (*Observer, error) {
	o := &Observer{}
	var err error
	if o.server, err = metrics.Start(f.Metrics); err != nil || f.Trace == "" {
		return o, err
	}
	o.log, err = sqlog.Create(f.Trace, sqlog.Options{Sample: float64(f.Sample), Title: program,
		Reference: goroce.Epoch()})
	if err != nil {
		return nil, errors.Join(err, o.server.Close())
	}
	return o, nil
}

// Open opens a host that is observed.
func (o *Observer) Open(device string, options goroce.Options) (*goroce.Host, error) {
	if o == nil {
		return goroce.Open(device, options)
	}
	if o.log != nil {
		options.Trace = o.log
	}
	host, err := goroce.Open(device, options)
	if err == nil {
		o.server.Add(host)
	}
	return host, err
}

// Close ends the server, and the log after all hosts are closed. It says on errs how many events
// were lost.
func (o *Observer) Close(errs io.Writer) error {
	err := o.server.Close()
	if o.log == nil {
		return err
	}
	if n := o.log.Lost(); n > 0 {
		fmt.Fprintf(errs, "event log: %d events were lost, because they were recorded faster than "+
			"written; lower --trace-sample\n", n)
	}
	return errors.Join(err, o.log.Close())
}
