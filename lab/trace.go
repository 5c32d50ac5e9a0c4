package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/lab/runner"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/trace/sqlog"
)

// tracer writes an event log of each job that runs.
type tracer struct {
	dir    string
	sample sqlog.Share
}

// begin starts the log of a job. end closes it.
func (t *tracer) begin(ctx context.Context, task runner.Task) (context.Context, func() error,
	error) {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return nil, nil, err
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(task.String())
	log, err := sqlog.Create(filepath.Join(t.dir, name+".sqlog"), sqlog.Options{
		Sample: float64(t.sample), Title: task.String(), Virtual: true})
	if err != nil {
		return nil, nil, err
	}
	return sim.WithTrace(ctx, log), log.Close, nil
}

// nothing returns an error if no job ran: a log is written while its job runs.
func (t *tracer) nothing(sum *runner.Summary, dir string) error {
	if t.dir == "" || sum.Done+sum.Failed > 0 {
		return nil
	}
	return fmt.Errorf("--trace: no log was written, because all jobs had been done in %s: want "+
		"another --out", dir)
}
