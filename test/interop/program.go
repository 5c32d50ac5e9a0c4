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

// program is one that was started, here or in a guest.
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

// Exit codes that say how a program ended, as shells have them.
const codeOfSignal = 128

// launch starts a program on the host. It does not outlive us.
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

// finish says that a program ended, and what it has printed beside that which is known.
func (p *program) finish(o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.code, p.fault = o.code, o.fault
	p.out.WriteString(o.out)
	p.errs.WriteString(o.errs)
	close(p.ended)
}

// writer appends to a buffer that others read meanwhile.
func (p *program) writer(b *bytes.Buffer) io.Writer {
	return writerFunc(func(text []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return b.Write(text)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// outcome is what a program left.
type outcome struct {
	code      int
	out, errs string
	fault     error // it did not start, or was lost
}

// outcome answers what there is of it by now.
func (p *program) outcome() outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return outcome{p.code, p.out.String(), p.errs.String(), p.fault}
}

// wait answers the outcome once the program has ended; an error when ctx ends before.
func (p *program) wait(ctx context.Context) (outcome, error) {
	select {
	case <-p.ended:
		return p.outcome(), nil
	case <-ctx.Done():
		return p.outcome(), fmt.Errorf("%s hangs: %w", p, context.Cause(ctx))
	}
}

// says waits until a program has printed a text.
func (p *program) says(ctx context.Context, text string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(p.outcome().out, text) {
		select {
		case <-p.ended:
			if strings.Contains(p.outcome().out, text) {
				return nil
			}
			return fmt.Errorf("%s ended before it said %q: %w", p, text, p.outcome().err())
		case <-ctx.Done():
			return fmt.Errorf("%s does not say %q: %w", p, text, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// end ends a program that may run still, and waits for that.
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

// String is the program's name, and where it runs.
func (p *program) String() string {
	name := p.line[0]
	return fmt.Sprintf("%s (%s)", name[strings.LastIndexByte(name, '/')+1:], p.place)
}

// err says why an outcome is none of a success.
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
