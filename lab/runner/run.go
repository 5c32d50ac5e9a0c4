package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/goroce/goroce/lab/experiment"
)

// Options are the options of Run.
type Options struct {
	Dir     string          // directory of the results
	Code    Code            // of the program, from ThisCode
	Shard   Shard           // the part to do
	Workers int             // concurrent tasks; 0: as many as the Go runtime uses cores
	Drain   <-chan struct{} // once it is closed, no task begins
	Watch   func(Event)     // if set, handles events, one call at a time
	// Begin, if set, is called before each task, which gets the context that it returns. It also
	// returns what is called after the task.
	Begin func(context.Context, Task) (context.Context, func() error, error)
}

// Event is a change of a task's state.
type Event struct {
	Task     Task
	Fraction float64 // completed fraction, from 0 to 1
	Done     bool    // it ended; those that were done before have only this event
	Skipped  bool    // it had been done before
	Err      error   // of the task
	Seconds  float64 // duration
}

// Summary counts tasks.
type Summary struct {
	Total   int // of all shards
	Others  int // those of other shards
	Skipped int // done before
	Done    int // done now, without error
	Failed  int // done now, with an error
	Left    int // of this shard, not done
}

// Run does the tasks of the shard that are not done yet. Errors of tasks are kept with them and
// counted; Run itself returns an error if it could not write a result.
//
// Once ctx ends or Drain closes, no task begins. Run waits for running tasks; when ctx has ended, a
// task that returns an error counts as not done.
func Run(ctx context.Context, plans []*Plan, o Options) (Summary, error) {
	r := &run{Options: o}
	todo, err := r.prepare(plans)
	if err != nil {
		return r.sum, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan Task)
	var workers sync.WaitGroup
	for range min(r.workers(), len(todo)) {
		workers.Go(func() {
			for t := range next {
				if err := r.do(ctx, t); err != nil {
					r.stop(err)
					cancel()
				}
			}
		})
	}
	r.deal(ctx, todo, next)
	close(next)
	workers.Wait()
	r.sum.Left = len(todo) - r.sum.Done - r.sum.Failed
	return r.sum, r.err
}

// run is the state of a Run.
type run struct {
	Options
	mu  sync.Mutex
	sum Summary
	err error
}

func (r *run) workers() int {
	if r.Workers > 0 {
		return r.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// prepare returns the tasks to do.
func (r *run) prepare(plans []*Plan) ([]Task, error) {
	var todo []Task
	for _, p := range plans {
		if err := p.save(r.Dir); err != nil {
			return nil, err
		}
		for _, t := range p.Tasks {
			place := r.sum.Total
			r.sum.Total++
			if !r.Shard.Has(place) {
				r.sum.Others++
				continue
			}
			if f := t.load(r.Dir); f != nil && f.Error == "" && f.Code.ID == r.Code.ID {
				r.sum.Skipped++
				r.emit(Event{Task: t, Fraction: 1, Done: true, Skipped: true})
				continue
			}
			todo = append(todo, t)
		}
	}
	return todo, nil
}

// deal hands out tasks until it has to stop.
func (r *run) deal(ctx context.Context, todo []Task, next chan<- Task) {
	for _, t := range todo {
		if r.over(ctx) { // also when a worker waits: select would take either
			return
		}
		select {
		case next <- t:
		case <-ctx.Done():
			return
		case <-r.Drain:
			return
		}
	}
}

func (r *run) over(ctx context.Context) bool {
	select {
	case <-ctx.Done():
	case <-r.Drain:
	default:
		return false
	}
	return true
}

// do does a task and writes its record.
func (r *run) do(ctx context.Context, t Task) error {
	r.emit(Event{Task: t})
	of, end := ctx, func() error { return nil }
	if r.Begin != nil {
		var err error
		if of, end, err = r.Begin(ctx, t); err != nil {
			return fmt.Errorf("runner: %s: %w", t, err)
		}
	}
	job := experiment.NewJob(of, t.Cell, t.Plan.Scale, t.Seed, func(fraction float64) {
		r.emit(Event{Task: t, Fraction: min(max(fraction, 0), 1)})
	})
	began := time.Now()
	failure := catchPanic("Run", func() error { return t.Plan.Experiment.Run(job) })
	if err := end(); failure == nil {
		failure = err
	}
	seconds := time.Since(began).Seconds()
	if failure != nil && ctx.Err() != nil {
		return nil // it was stopped
	}
	f := jobFile{Setup: t.setup, Code: r.Code, Seconds: seconds}
	if failure != nil {
		f.Error = failure.Error()
	} else {
		f.Record = job.Record()
	}
	text, err := f.encode()
	if err == nil {
		err = writeFile(t.path(r.Dir), text)
	}
	if err != nil {
		return fmt.Errorf("runner: result of %s: %w", t, err)
	}
	r.count(failure)
	r.emit(Event{Task: t, Fraction: 1, Done: true, Err: failure, Seconds: seconds})
	return nil
}

func (r *run) count(failure error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if failure != nil {
		r.sum.Failed++
	} else {
		r.sum.Done++
	}
}

func (r *run) stop(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

func (r *run) emit(e Event) {
	if r.Watch == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Watch(e)
}
