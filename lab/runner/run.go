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

// Options say how to run.
type Options struct {
	Dir     string          // where results are kept
	Code    Code            // of the program, from ThisCode
	Shard   Shard           // the part that is ours
	Workers int             // tasks at a time; 0: as many as the Go runtime uses cores
	Drain   <-chan struct{} // closed: no task begins any more
	Watch   func(Event)     // if set, told what goes on, one call at a time
}

// Event is something that happened to a task.
type Event struct {
	Task     Task
	Fraction float64 // done, from 0 to 1
	Done     bool    // it ended; those that were done before say so at once
	Skipped  bool    // it had been done before
	Err      error   // with which it ended
	Seconds  float64 // that it took
}

// Summary counts tasks.
type Summary struct {
	Total   int // of all shards
	Others  int // those of other shards
	Skipped int // done before
	Done    int // done now, and well
	Failed  int // done now, with an error
	Left    int // ours, not done
}

// Run does those tasks of the shard that are not done yet. Errors of tasks are kept with them and
// counted; the error of Run itself is that of a result that could not be kept.
//
// Once ctx ends or Drain closes, no task begins. Those that run are waited for; when ctx has ended,
// one that returns an error counts as not done.
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

// run is a Run under way.
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

// prepare answers the tasks to do.
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
				r.tell(Event{Task: t, Fraction: 1, Done: true, Skipped: true})
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

// do does a task and keeps what it found.
func (r *run) do(ctx context.Context, t Task) error {
	r.tell(Event{Task: t})
	job := experiment.NewJob(ctx, t.Cell, t.Plan.Scale, t.Seed, func(fraction float64) {
		r.tell(Event{Task: t, Fraction: min(max(fraction, 0), 1)})
	})
	began := time.Now()
	failure := guard("Run", func() error { return t.Plan.Experiment.Run(job) })
	seconds := time.Since(began).Seconds()
	if failure != nil && ctx.Err() != nil {
		return nil // it was told to stop
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
	r.tell(Event{Task: t, Fraction: 1, Done: true, Err: failure, Seconds: seconds})
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

func (r *run) tell(e Event) {
	if r.Watch == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Watch(e)
}
