package main

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// runner runs campaigns, one after another, each in a process of its own.
type runner struct {
	rounds     int // 0: the campaign's default
	full       bool
	stallLimit time.Duration
	out        io.Writer
}

// runCampaign runs a campaign, prints its line and reports whether it passed.
func (r *runner) runCampaign(c campaign) bool {
	rounds := c.rounds
	if r.full {
		rounds = c.full
	}
	if r.rounds > 0 {
		rounds = r.rounds
	}
	began := time.Now()
	verdict, passed := r.runProcess(role{Campaign: c.name, Rounds: rounds})
	mark := "FAIL"
	if passed {
		mark = "ok"
	}
	fmt.Fprintf(r.out, "%-4s %-16s %6d rounds in %6.1fs: %s\n", mark, c.name, rounds,
		time.Since(began).Seconds(), verdict)
	return passed
}

// runProcess runs a campaign's process and returns its verdict.
func (r *runner) runProcess(task role) (verdict string, passed bool) {
	p, err := start(task)
	if err != nil {
		return err.Error(), false
	}
	// On SIGQUIT the Go runtime prints all goroutines.
	hung := time.AfterFunc(r.stallLimit, func() { p.cmd.Process.Signal(syscall.SIGQUIT) })
	defer hung.Stop()
	verdict = "ended without a verdict"
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			break
		}
		hung.Reset(r.stallLimit)
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, passPrefix); ok {
			verdict, passed = strings.TrimSpace(text), true
		} else if text, ok := strings.CutPrefix(line, failPrefix); ok {
			verdict = strings.TrimSpace(text)
		} else {
			verdict = "ended without a verdict after " + line
		}
	}
	if err := p.stop(); err != nil {
		return verdict + ": " + p.cmd.ProcessState.String(), false
	}
	return verdict, passed
}
