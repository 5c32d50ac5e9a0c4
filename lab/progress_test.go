package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/lab/runner"
)

// shown returns what a run of three jobs prints: one done before, one failed, one done.
func shown(t *testing.T, terminal bool) string {
	p, err := runner.NewPlan(labtest.Dice, experiment.Full, 1)
	require.NoError(t, err)
	var b bytes.Buffer
	show := newProgress(&b, terminal, []*runner.Plan{p}, runner.Shard{Index: 0, Count: 3})
	show.event(runner.Event{Task: p.Tasks[0], Fraction: 1, Done: true, Skipped: true})
	show.event(runner.Event{Task: p.Tasks[3]})
	show.event(runner.Event{Task: p.Tasks[6]})
	show.event(runner.Event{Task: p.Tasks[6], Fraction: 0.5})
	show.event(runner.Event{Task: p.Tasks[3], Fraction: 1, Done: true, Err: errors.New("no"),
		Seconds: 1})
	show.event(runner.Event{Task: p.Tasks[6], Fraction: 1, Done: true, Seconds: 2})
	show.close()
	return b.String()
}

func TestProgressAsLines(t *testing.T) {
	assert.Equal(t, ""+
		"[2/3] demo/dice n=2 seed 1: failed\n"+
		"[3/3] demo/dice n=3 seed 1: 2.0 s\n"+
		"done before: 1 of 3\n", shown(t, false))
}

func TestProgressAsBar(t *testing.T) {
	got := shown(t, true)
	assert.Contains(t, got, "1/3 jobs")
	assert.Contains(t, got, "50%", "one and a half of three")
	assert.Contains(t, got, "[2/3] demo/dice n=2 seed 1: failed\n")
	assert.NotContains(t, got, "2.0 s", "the bar has the line")
	assert.Contains(t, got, "done before: 1 of 3\n")
}
