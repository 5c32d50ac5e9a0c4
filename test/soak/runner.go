package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// runner runs many seeds, each in a world of its own, several at a time.
type runner struct {
	first    uint64
	seeds    int
	workers  int
	mode     mode
	verbose  bool
	until    time.Time // no seed begins after it; zero: all do
	out      io.Writer
	progress io.Writer // nil: not told

	mutex          sync.Mutex
	begun          int
	passed, failed int
	sum            stats
}

// repeatEvery is how often a seed is run twice, to see that both runs are one.
const repeatEvery = 16

// progressEvery is the time between two words about progress.
const progressEvery = 10 * time.Second

// run runs the seeds, tells what came of them, and answers how many failed.
func (r *runner) run() (failed int) {
	began := time.Now()
	stop := make(chan struct{})
	if r.progress != nil {
		go r.tell(began, stop)
	}
	var all sync.WaitGroup
	for range r.workers {
		all.Go(func() {
			for seed, more := r.next(); more; seed, more = r.next() {
				r.one(seed)
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

// next answers the next seed to run.
func (r *runner) next() (seed uint64, more bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.begun == r.seeds || !r.until.IsZero() && time.Now().After(r.until) {
		return 0, false
	}
	r.begun++
	return r.first + uint64(r.begun-1), true
}

// one runs one seed.
func (r *runner) one(seed uint64) {
	began := time.Now()
	text, sum, problems := runSeed(seed, r.mode)
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

// replay is a command that runs one seed again.
func (r *runner) replay(seed uint64) string {
	if r.mode.name == "" {
		return fmt.Sprintf("bin/soak -first %d -seeds 1 -v, or go test ./test/soak -run TestSoak "+
			"-seed %d", seed, seed)
	}
	return fmt.Sprintf("bin/soak -mode %s -first %d -seeds 1 -v", r.mode.name, seed)
}

// tell says now and then how far it is.
func (r *runner) tell(began time.Time, stop <-chan struct{}) {
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

// runSeed runs one seed, now and then twice, and answers what it means, what came of it, and what
// did not hold.
func runSeed(seed uint64, m mode) (text string, sum stats, problems []string) {
	runs := 1
	if seed%repeatEvery == 0 {
		runs = 2
	}
	for run := range runs {
		p, err := newPlan(seed, m)
		if err != nil {
			return "", sum, []string{err.Error()}
		}
		w := newWorld(p)
		w.live()
		if run > 0 && w.stats != sum {
			problems = append(problems,
				fmt.Sprintf("a second run came out otherwise: %+v, then %+v", sum, w.stats))
		}
		text, sum, problems = p.String(), w.stats, append(problems, w.problems...)
		if len(problems) > 0 {
			break
		}
	}
	return text, sum, problems
}
