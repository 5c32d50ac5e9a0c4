package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program is a started program, on the host or in a guest.
type program struct {
	line   []string
	place  string // "here", "guest a"
	ended  chan struct{}
	signal func(syscall.Signal)

	mu        sync.Mutex
	out, errs bytes.Buffer
	code      int
	fault     error
}

// codeOfSignal is added to a signal's number to form an exit code, as in shells.
const codeOfSignal = 128

// launch starts a program on the host. It is killed when this process dies.
func launch(line ...string) *program {
	p := &program{line: line, place: "here", ended: make(chan struct{})}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = p.writer(&p.out), p.writer(&p.errs)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	p.signal = func(s syscall.Signal) { _ = cmd.Process.Signal(s) }
	if err := cmd.Start(); err != nil {
		p.signal = func(syscall.Signal) {}
		p.finish(outcome{fault: err})
		return p
	}
	go func() {
		err := cmd.Wait()
		o := outcome{code: cmd.ProcessState.ExitCode()}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			o.code = codeOfSignal + int(status.Signal())
		}
		if o.code == 0 {
			o.fault = err
		}
		p.finish(o)
	}()
	return p
}

// finish records that a program ended, and adds its remaining output.
func (p *program) finish(o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.code, p.fault = o.code, o.fault
	p.out.WriteString(o.out)
	p.errs.WriteString(o.errs)
	close(p.ended)
}

// writer returns a writer that appends to a buffer which others read concurrently.
func (p *program) writer(b *bytes.Buffer) io.Writer {
	return writerFunc(func(text []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return b.Write(text)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// outcome is the result of a program.
type outcome struct {
	code      int
	out, errs string
	fault     error // it did not start, or the connection was lost
}

// outcome returns the current outcome.
func (p *program) outcome() outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return outcome{p.code, p.out.String(), p.errs.String(), p.fault}
}

// wait returns the outcome once the program has ended, and an error if ctx ends first.
func (p *program) wait(ctx context.Context) (outcome, error) {
	select {
	case <-p.ended:
		return p.outcome(), nil
	case <-ctx.Done():
		return p.outcome(), fmt.Errorf("%s hangs: %w", p, context.Cause(ctx))
	}
}

// says waits until a program has printed a text, also as an error.
func (p *program) says(ctx context.Context, text string) error {
	printed := func() bool {
		o := p.outcome()
		return strings.Contains(o.out, text) || strings.Contains(o.errs, text)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !printed() {
		select {
		case <-p.ended:
			if printed() {
				return nil
			}
			return fmt.Errorf("%s ended before it printed %q: %w", p, text, p.outcome().err())
		case <-ctx.Done():
			return fmt.Errorf("%s did not print %q: %w", p, text, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// end ends a program that may still run and waits for its end.
func (p *program) end() {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.ended:
			return
		default:
		}
		p.signal(s)
		select {
		case <-p.ended:
		case <-time.After(2 * time.Second):
		}
	}
}

// String returns the program's name and where it runs.
func (p *program) String() string {
	name := p.line[0]
	return fmt.Sprintf("%s (%s)", name[strings.LastIndexByte(name, '/')+1:], p.place)
}

// err returns the reason why an outcome is a failure, and nil for a success.
func (o outcome) err() error {
	switch {
	case o.fault != nil:
		return o.fault
	case o.code == 0:
		return nil
	}
	said := lastLine(o.errs)
	if said == "" {
		said = lastLine(o.out)
	}
	return fmt.Errorf("exit code %d: %s", o.code, said)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
