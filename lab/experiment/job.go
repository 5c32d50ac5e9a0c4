package experiment

import "context"

// Job is the simulation of one cell with one seed, and records its results. It belongs to the
// goroutine of Run.
type Job struct {
	Cell
	Scale Scale
	Seed  uint64

	ctx      context.Context
	progress func(fraction float64)
	record   *Record
}

// NewJob returns a job with an empty record. progress may be nil.
func NewJob(ctx context.Context, c Cell, s Scale, seed uint64,
	progress func(fraction float64)) *Job {
	if progress == nil {
		progress = func(float64) {}
	}
	return &Job{Cell: c, Scale: s, Seed: seed, ctx: ctx, progress: progress, record: &Record{}}
}

// Context is done when the result is no longer needed. A simulation of more than a few seconds
// checks it from time to time and returns its error.
func (j *Job) Context() context.Context { return j.ctx }

// Progress reports the completed fraction of the simulation, from 0 to 1.
func (j *Job) Progress(fraction float64) { j.progress(fraction) }

// Value appends numbers to the values of a name. A single number is recorded like the samples of a
// distribution; infinite numbers are kept.
func (j *Job) Value(name string, v ...float64) { j.record.Add(name, v) }

// Series returns the series of a name, to which points are added.
func (j *Job) Series(name string) *Series { return j.record.series(name) }

// Record returns the record of the job.
func (j *Job) Record() *Record { return j.record }
