package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// runner runs many seeds concurrently, each in a simulation of its own.
type runner struct {
	first    uint64
	seeds    int
	workers  int
	mode     mode
	verbose  bool
	until    time.Time // no seed starts after it; zero: no limit
	out      io.Writer
	progress io.Writer // nil: no progress reports

	mutex          sync.Mutex
	started        int
	passed, failed int
	sum            stats
}

// repeatEvery is how often a seed is run twice to check that both runs are identical.
const repeatEvery = 16

// progressEvery is the time between two progress reports.
const progressEvery = 2 * time.Second

// run runs the seeds until ctx ends, prints the results, and returns the number of failed seeds.
func (r *runner) run(ctx context.Context) (failed int) {
	began := time.Now()
	stop := make(chan struct{})
	if r.progress != nil {
		go r.reportProgress(began, stop)
	}
	var all sync.WaitGroup
	for range r.workers {
		all.Go(func() {
			for seed, more := r.next(); more && ctx.Err() == nil; seed, more = r.next() {
				r.runSeed(seed)
			}
		})
	}
	all.Wait()
	close(stop)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := &r.sum
	fmt.Fprintf(r.out, "%d messages of %d bytes and %d unreliable ones delivered, %d refused, %d "+
		"given up, in %d packet-hops\n",
		s.Messages, s.Bytes, s.Datagrams, s.Refused, s.Exhausted, s.Hops)
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, r.failed)
	return r.failed
}

// next returns the next seed to run.
func (r *runner) next() (seed uint64, more bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.started == r.seeds || !r.until.IsZero() && time.Now().After(r.until) {
		return 0, false
	}
	r.started++
	return r.first + uint64(r.started-1), true
}

// runSeed runs one seed and records its result.
func (r *runner) runSeed(seed uint64) {
	began := time.Now()
	text, sum, problems := simulateSeed(seed, r.mode)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sum.add(sum)
	if r.verbose {
		fmt.Fprintf(r.out, "%s  %v: %+v\n", text, time.Since(began).Round(time.Millisecond), sum)
	}
	if len(problems) == 0 {
		r.passed++
		return
	}
	r.failed++
	for _, problem := range problems {
		fmt.Fprintf(r.out, "seed %d: %s\n", seed, problem)
	}
	fmt.Fprintf(r.out, "seed %d: replay with %s\n", seed, r.replay(seed))
}

// replay returns a command that runs one seed again.
func (r *runner) replay(seed uint64) string {
	if r.mode.name == "" {
		return fmt.Sprintf("bin/soak --first %d --seeds 1 -v, or go test ./test/soak "+
			"-run TestSoak -seed %d", seed, seed)
	}
	return fmt.Sprintf("bin/soak --mode %s --first %d --seeds 1 -v", r.mode.name, seed)
}

// reportProgress prints the progress periodically.
func (r *runner) reportProgress(began time.Time, stop <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			r.mutex.Lock()
			fmt.Fprintf(r.progress, "%v: %d passed, %d failed, of %d\n",
				time.Since(began).Round(time.Second), r.passed, r.failed, r.seeds)
			r.mutex.Unlock()
		}
	}
}

// simulateSeed runs one seed, some of them twice, and returns its plan, its statistics and its
// problems.
func simulateSeed(seed uint64, m mode) (text string, sum stats, problems []string) {
	runs := 1
	if seed%repeatEvery == 0 {
		runs = 2
	}
	for run := range runs {
		p, err := newPlan(seed, m)
		if err != nil {
			return "", sum, []string{err.Error()}
		}
		sim := newSimulation(p)
		sim.run()
		if run > 0 && sim.stats != sum {
			problems = append(problems,
				fmt.Sprintf("two runs differ: %+v, then %+v", sum, sim.stats))
		}
		text, sum, problems = p.String(), sim.stats, append(problems, sim.problems...)
		if len(problems) > 0 {
			break
		}
	}
	return text, sum, problems
}
