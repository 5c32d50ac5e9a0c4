package main

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// session runs campaigns, one after another, each in a process of its own.
type session struct {
	rounds   int // 0: the campaign's own
	full     bool
	patience time.Duration
	out      io.Writer
}

// one runs a campaign, prints its line and reports whether it held.
func (s *session) one(c campaign) bool {
	rounds := c.rounds
	if s.full {
		rounds = c.full
	}
	if s.rounds > 0 {
		rounds = s.rounds
	}
	began := time.Now()
	verdict, holds := s.watch(role{Campaign: c.name, Rounds: rounds})
	mark := "FAIL"
	if holds {
		mark = "ok"
	}
	fmt.Fprintf(s.out, "%-4s %-16s %6d rounds in %6.1fs: %s\n", mark, c.name, rounds,
		time.Since(began).Seconds(), verdict)
	return holds
}

// watch starts a campaign's process and returns what came of it.
func (s *session) watch(be role) (verdict string, holds bool) {
	p, err := start(be)
	if err != nil {
		return err.Error(), false
	}
	// Go prints its goroutines
	hung := time.AfterFunc(s.patience, func() { p.cmd.Process.Signal(syscall.SIGQUIT) })
	defer hung.Stop()
	verdict = "ended without a verdict"
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			break
		}
		hung.Reset(s.patience)
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, holdsPrefix); ok {
			verdict, holds = strings.TrimSpace(text), true
		} else if text, ok := strings.CutPrefix(line, failsPrefix); ok {
			verdict = strings.TrimSpace(text)
		} else {
			verdict = "ended without a verdict after " + line
		}
	}
	if err := p.end(); err != nil {
		return verdict + ": " + p.cmd.ProcessState.String(), false
	}
	return verdict, holds
}
