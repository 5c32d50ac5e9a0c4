package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bench is the environment in which cells are measured.
type bench struct {
	rounds   int
	deadline time.Duration
	cpus     []int  // the two CPUs to measure on, or the only one
	self     string // path of this program
	bin      string // directory of the programs under test
	temp     string // removed by close

	group    *group // with half a CPU; nil until first used
	groupErr error  // why there is no group
}

func newBench(s *settings) (*bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bench{rounds: s.rounds, deadline: s.deadline, cpus: s.cpus, self: self, bin: s.bin}
	if b.bin == "" {
		b.bin = filepath.Dir(self)
	}
	if len(b.cpus) == 0 {
		cpus, err := allowedCPUs()
		if err != nil {
			return nil, err
		}
		b.cpus = cpus[:min(2, len(cpus))]
	}
	b.temp, err = os.MkdirTemp("", "busyhost-")
	return b, err
}

// close removes temporary files and the control group.
func (b *bench) close() error {
	err := os.RemoveAll(b.temp)
	if b.group != nil {
		err = errors.Join(err, b.group.remove())
	}
	return err
}

// quota returns the directory of the group with half a CPU.
func (b *bench) quota() (string, error) {
	if b.group == nil && b.groupErr == nil {
		b.group, b.groupErr = newGroup()
	}
	if b.groupErr != nil {
		return "", b.groupErr
	}
	return b.group.dir, nil
}

// trial is a way to run a program, and the figure to take from its document.
type trial struct {
	place   place
	figure  figure
	program string
	args    []string
}

// on returns a trial: a place, a figure, and a command line.
func on(p place, f figure, line string) trial {
	words := strings.Fields(line)
	return trial{p, f, words[0], words[1:]}
}

// with returns the trial with more flags.
func (t trial) with(flags string) trial {
	t.args = append(append([]string{}, t.args...), strings.Fields(flags)...)
	return t
}

// command returns the command line, with programs from a directory.
func (t trial) command(bin string) []string {
	return append([]string{filepath.Join(bin, t.program), "-d", "loop:"}, t.args...)
}

func (t trial) String() string { return strings.Join(append([]string{t.program}, t.args...), " ") }

// tolerated is the number of failed runs of a trial after which its cell is abandoned.
const tolerated = 2

// interleave runs trials in turn, in reversed order every other round, and returns the runs of
// each.
func (b *bench) interleave(ctx context.Context, trials ...trial) ([][]outcome, error) {
	runs := make([][]outcome, len(trials))
	for round := range b.rounds {
		for _, i := range order(len(trials), round) {
			o, err := b.once(ctx, trials[i])
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], o)
			if len(failures(runs[i])) == tolerated {
				return runs, nil
			}
		}
	}
	return runs, nil
}

// all measures cells and passes each result to done.
func (b *bench) all(ctx context.Context, cells []cell, done func(*result)) error {
	for _, c := range cells {
		before := sampleCPU()
		r, err := b.judge(ctx, c)
		if err != nil {
			return err
		}
		r.disturb(sampleCPU().others(before), c.anyLoad)
		done(r)
	}
	return nil
}

// judge measures a cell, or returns a result with the reason why it cannot be measured.
func (b *bench) judge(ctx context.Context, c cell) (*result, error) {
	r := &result{Cell: c.name, Bar: c.bar}
	if n := len(b.cpus); n < c.cpus {
		return r.skip(fmt.Sprintf("needs %d CPUs, %d available", c.cpus, n)), nil
	}
	if c.quota {
		if _, err := b.quota(); err != nil {
			return r.skip(fmt.Sprintf("no group with half a CPU: %v", err)), nil
		}
	}
	return r, c.judge.judge(ctx, b, r)
}
