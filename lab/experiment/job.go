package experiment

import "context"

// Job is the simulation of one cell with one seed, and takes down what it finds. It belongs to the
// goroutine of Run.
type Job struct {
	Cell
	Scale Scale
	Seed  uint64

	ctx      context.Context
	progress func(fraction float64)
	record   *Record
}

// NewJob answers a job that has found nothing yet. progress may be nil.
func NewJob(ctx context.Context, c Cell, s Scale, seed uint64,
	progress func(fraction float64)) *Job {
	if progress == nil {
		progress = func(float64) {}
	}
	return &Job{Cell: c, Scale: s, Seed: seed, ctx: ctx, progress: progress, record: &Record{}}
}

// Context ends when nobody wants the result any more. A simulation of more than seconds looks at it
// from time to time and returns its error.
func (j *Job) Context() context.Context { return j.ctx }

// Progress tells who waits how much of the simulation is done, from 0 to 1.
func (j *Job) Progress(fraction float64) { j.progress(fraction) }

// Value takes down numbers under a name, behind those that are there. A number that stands for
// itself and the samples of a distribution are the same thing; infinite ones are kept.
func (j *Job) Value(name string, v ...float64) {
	values := j.record.values(name)
	*values = append(*values, v...)
}

// Series answers the series of a name, to which points are added.
func (j *Job) Series(name string) *Series { return j.record.series(name) }

// Record answers what the job has taken down.
func (j *Job) Record() *Record { return j.record }
