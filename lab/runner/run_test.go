package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/lab/experiment"
)

var (
	oneCode   = Code{ID: "one", Commit: "c1"}
	otherCode = Code{ID: "other", Commit: "c2"}
)

// bench is an experiment that records which of its jobs were run; it has a cell for each parameter.
type bench struct {
	experiment.Experiment
	mu  sync.Mutex
	ran []string
	do  func(*experiment.Job) error // called by each job if set
}

func newBench(params ...int) *bench {
	b := &bench{}
	b.Experiment = experiment.Experiment{
		ID:    "demo/bench",
		Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 2) },
		Cells: func(experiment.Scale) []experiment.Cell {
			var cells []experiment.Cell
			for i, p := range params {
				cells = append(cells, experiment.Cell{Name: fmt.Sprintf("c%d", i), Params: p})
			}
			return cells
		},
		Run: func(j *experiment.Job) error {
			b.mu.Lock()
			b.ran = append(b.ran, fmt.Sprintf("%s-%d", j.Name, j.Seed))
			b.mu.Unlock()
			j.Value("param", float64(j.Params.(int)))
			if b.do != nil {
				return b.do(j)
			}
			return nil
		},
	}
	return b
}

// runs returns the summary of a run of the bench, and the jobs that it did, sorted.
func (b *bench) runs(t require.TestingT, scale experiment.Scale, o Options) (Summary, []string) {
	p, err := NewPlan(&b.Experiment, scale, 1)
	require.NoError(t, err)
	if o.Code.ID == "" {
		o.Code = oneCode
	}
	b.ran = nil
	sum, err := Run(context.Background(), []*Plan{p}, o)
	require.NoError(t, err)
	slices.Sort(b.ran)
	return sum, b.ran
}

func TestRunSkipsCompletedJobs(t *testing.T) {
	dir := t.TempDir()
	small, full := experiment.Small, experiment.Full
	all := []string{"c0-1", "c0-2", "c1-1", "c1-2"}
	b := newBench(10, 20)

	sum, ran := b.runs(t, small, Options{Dir: dir})
	assert.Equal(t, all, ran)
	assert.Equal(t, Summary{Total: 4, Done: 4}, sum)

	sum, ran = b.runs(t, small, Options{Dir: dir})
	assert.Empty(t, ran, "all were done")
	assert.Equal(t, Summary{Total: 4, Skipped: 4}, sum)

	require.NoError(t, os.Remove(filepath.Join(dir, "demo/bench/jobs/c1-1.json")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "demo/bench/jobs/c0-2.json"),
		[]byte(`{"half`), 0o644))
	sum, ran = b.runs(t, small, Options{Dir: dir})
	assert.Equal(t, []string{"c0-2", "c1-1"}, ran, "missing and broken files")
	assert.Equal(t, Summary{Total: 4, Skipped: 2, Done: 2}, sum)

	_, ran = b.runs(t, small, Options{Dir: dir, Code: otherCode})
	assert.Equal(t, all, ran, "the code changed")

	changed := newBench(10, 21)
	_, ran = changed.runs(t, small, Options{Dir: dir, Code: otherCode})
	assert.Equal(t, []string{"c1-1", "c1-2"}, ran, "the parameters of a cell changed")

	sum, ran = changed.runs(t, full, Options{Dir: dir, Code: otherCode})
	assert.Len(t, ran, 6, "the scale changed")
	assert.Equal(t, Summary{Total: 6, Done: 6}, sum)
}

func TestFailedJobIsRecordedAndOthersContinue(t *testing.T) {
	dir := t.TempDir()
	b := newBench(1, 2, 3)
	b.do = func(j *experiment.Job) error {
		switch j.Params {
		case 1:
			return errors.New("the link went down")
		case 2:
			panic("out of range")
		}
		return nil
	}
	var failed []string
	sum, ran := b.runs(t, experiment.Small, Options{Dir: dir, Watch: func(e Event) {
		if e.Done && e.Err != nil {
			failed = append(failed, e.Task.String())
		}
	}})
	assert.Len(t, ran, 6)
	assert.Equal(t, Summary{Total: 6, Done: 2, Failed: 4}, sum)
	slices.Sort(failed)
	assert.Equal(t, []string{"demo/bench c0 seed 1", "demo/bench c0 seed 2", "demo/bench c1 seed 1",
		"demo/bench c1 seed 2"}, failed)

	p, err := NewPlan(&b.Experiment, experiment.Small, 1)
	require.NoError(t, err)
	f := p.Tasks[0].load(dir)
	require.NotNil(t, f)
	assert.Equal(t, "the link went down", f.Error)
	assert.Nil(t, f.Record)
	assert.True(t, strings.HasPrefix(p.Tasks[2].load(dir).Error,
		"Run: panic: out of range\ngoroutine"))

	b.do = nil
	sum, ran = b.runs(t, experiment.Small, Options{Dir: dir})
	assert.Equal(t, []string{"c0-1", "c0-2", "c1-1", "c1-2"}, ran,
		"those that failed are tried again")
	assert.Equal(t, Summary{Total: 6, Skipped: 2, Done: 4}, sum)
}

func TestDrainFinishesWhatRuns(t *testing.T) {
	dir := t.TempDir()
	b := newBench(1, 2, 3)
	drain := make(chan struct{})
	b.do = func(j *experiment.Job) error {
		if len(b.ran) == 2 {
			close(drain) // during the second job
		}
		return j.Context().Err()
	}
	sum, ran := b.runs(t, experiment.Small, Options{Dir: dir, Workers: 1, Drain: drain})
	assert.Equal(t, []string{"c0-1", "c0-2"}, ran)
	assert.Equal(t, Summary{Total: 6, Done: 2, Left: 4}, sum)

	b.do = nil
	sum, ran = b.runs(t, experiment.Small, Options{Dir: dir})
	assert.Equal(t, []string{"c1-1", "c1-2", "c2-1", "c2-2"}, ran, "the next run goes on")
	assert.Equal(t, Summary{Total: 6, Skipped: 2, Done: 4}, sum)
}

func TestCancelStopsWhatRuns(t *testing.T) {
	dir := t.TempDir()
	b := newBench(1, 2, 3)
	ctx, cancel := context.WithCancel(t.Context())
	b.do = func(j *experiment.Job) error {
		if len(b.ran) == 2 {
			cancel()
		}
		return j.Context().Err()
	}
	p, err := NewPlan(&b.Experiment, experiment.Small, 1)
	require.NoError(t, err)
	sum, err := Run(ctx, []*Plan{p}, Options{Dir: dir, Code: oneCode, Workers: 1})
	require.NoError(t, err)
	assert.Equal(t, Summary{Total: 6, Done: 1, Left: 5}, sum)
	assert.Nil(t, p.Tasks[1].load(dir), "it is not kept as a failure")
}

func TestUnwritableResultEndsTheRun(t *testing.T) {
	dir := t.TempDir()
	b := newBench(1, 2, 3)
	b.do = func(j *experiment.Job) error {
		// a file in the place of the folder
		return os.WriteFile(filepath.Join(dir, "demo/bench/jobs"), nil, 0o644)
	}
	p, err := NewPlan(&b.Experiment, experiment.Small, 1)
	require.NoError(t, err)
	sum, err := Run(t.Context(), []*Plan{p}, Options{Dir: dir, Code: oneCode, Workers: 1})
	assert.ErrorContains(t, err, "runner: result of demo/bench c0 seed 1")
	assert.Equal(t, 6, sum.Left)
}

// TestShardsDoEveryJobOnce, whatever the number of shards and of jobs.
func TestShardsDoEveryJobOnce(t *testing.T) {
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(parent, "")
		require.NoError(t, err)
		b := newBench(make([]int, rapid.IntRange(1, 5).Draw(t, "cells"))...)
		count := rapid.IntRange(1, 12).Draw(t, "shards")
		done := map[string]int{}
		total := 0
		for i := range count {
			sum, ran := b.runs(t, experiment.Small, Options{Dir: dir, Shard: Shard{i, count}})
			require.Equal(t, sum.Total, sum.Others+sum.Done,
				"no shard repeats a job of another")
			for _, job := range ran {
				done[job]++
			}
			total = sum.Total
		}
		require.Len(t, done, total)
		for job, times := range done {
			require.Equal(t, 1, times, job)
		}
	})
}

func TestWorkersRunTogether(t *testing.T) {
	b := newBench(1, 2)
	var together sync.WaitGroup
	together.Add(4)
	b.do = func(j *experiment.Job) error {
		together.Done()
		together.Wait() // for all four jobs: with fewer workers the test would never end
		return nil
	}
	sum, _ := b.runs(t, experiment.Small, Options{Dir: t.TempDir(), Workers: 4})
	assert.Equal(t, 4, sum.Done)
}

func TestEventsTellProgress(t *testing.T) {
	b := newBench(1)
	b.do = func(j *experiment.Job) error { j.Progress(0.25); j.Progress(7); return nil }
	var events []string
	b.runs(t, experiment.Small, Options{Dir: t.TempDir(), Workers: 1, Watch: func(e Event) {
		events = append(events, fmt.Sprint(e.Task.Seed, e.Fraction, e.Done))
	}})
	assert.Equal(t, []string{"1 0 false", "1 0.25 false", "1 1 false", "1 1 true",
		"2 0 false", "2 0.25 false", "2 1 false", "2 1 true"}, events)
}

func TestPlanErrors(t *testing.T) {
	b := newBench(1)
	b.Seeds = func(experiment.Scale) int { return 0 }
	_, err := NewPlan(&b.Experiment, experiment.Small, 1)
	assert.EqualError(t, err, "runner: demo/bench: no seeds at small scale")
	_, err = NewPlan(&experiment.Experiment{ID: "demo/x",
		Cells: func(experiment.Scale) []experiment.Cell {
			return experiment.Sweep("%p", func() {})
		}}, experiment.Small, 1)
	assert.ErrorContains(t, err, "unsupported type: func()")
	_, err = NewPlan(&newBench().Experiment, experiment.Small, 1)
	assert.ErrorContains(t, err, "no cells")
}

func TestCellNamesMakeFileNames(t *testing.T) {
	paths := map[string]bool{}
	names := []string{"Physical* w/o CC", "../../etc", "a b", "a%20b", "ä", ".", "a-1", "a"}
	e := &experiment.Experiment{ID: "demo/x", Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("%s", names...)
	}}
	p, err := NewPlan(e, experiment.Full, 1)
	require.NoError(t, err)
	for _, task := range p.Tasks {
		path := task.path("dir")
		assert.Equal(t, filepath.Join("dir/demo/x/jobs"), filepath.Dir(path))
		assert.False(t, paths[path], path)
		paths[path] = true
	}
}

func TestThisCodeIsKnown(t *testing.T) {
	c, err := ThisCode()
	require.NoError(t, err)
	again, err := ThisCode()
	require.NoError(t, err)
	assert.Equal(t, c, again)
	assert.NotEmpty(t, c.ID)
	assert.NotEmpty(t, c.Commit)
}
