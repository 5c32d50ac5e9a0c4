package tocc

import (
	"sync"

	"github.com/goroce/goroce/bench/lab/experiment"
)

// Several experiments look at the same runs. A process makes each but once.

type onceFor struct {
	run  run
	seed uint64
}

type oneRun struct {
	sync.Mutex
	out *outcome
}

var runs struct {
	sync.Mutex
	of map[onceFor]*oneRun
}

// once answers what came of a run, which its set-up and the seed determine.
func once(j *experiment.Job, r run, simulate func() (*outcome, error)) (*outcome, error) {
	runs.Lock()
	if runs.of == nil {
		runs.of = map[onceFor]*oneRun{}
	}
	key := onceFor{r, j.Seed}
	one := runs.of[key]
	if one == nil {
		one = &oneRun{}
		runs.of[key] = one
	}
	runs.Unlock()
	one.Lock()
	defer one.Unlock()
	if one.out != nil {
		return one.out, nil
	}
	out, err := simulate()
	if err == nil {
		one.out = out
	}
	return out, err
}
