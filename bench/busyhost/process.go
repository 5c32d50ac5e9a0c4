package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command prepares a process with a process group of its own. The group is killed when the context
// ends, and when this process dies.
func command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// execute runs a command to its end and returns its standard output. failure describes an error of
// the command or a timeout; err is for the end of ctx.
func execute(ctx context.Context, limit time.Duration, path string, args ...string) (out []byte,
	failure string, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := command(limited, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	switch err := cmd.Run(); {
	case err == nil:
		return stdout.Bytes(), "", nil
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return stdout.Bytes(), fmt.Sprintf("did not end in %v", limit), nil
	default:
		return stdout.Bytes(), strings.TrimSuffix(fmt.Sprintf("%v: %s", err,
			lastLine(stderr.String())), ": "), nil
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// once runs a trial once.
func (b *bench) once(ctx context.Context, t trial) (o outcome, err error) {
	file, limit := filepath.Join(b.temp, "run.json"), b.deadline
	cpus, group := b.cpus, ""
	switch t.place {
	case busy:
		stop, err := b.occupy(ctx, b.cpus[1])
		if err != nil {
			return o, err
		}
		defer stop()
	case oneCPU:
		cpus = b.cpus[:1]
	case halfCPU:
		limit *= 3
		if group, err = b.quota(); err != nil {
			return o, err
		}
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return o, err
	}
	begin := time.Now()
	_, failure, err := execute(ctx, limit, b.self,
		entering(cpus, group, append(t.command(b.bin), "--out_json_file", file))...)
	if err != nil {
		return o, err
	}
	o.Seconds = time.Since(begin).Seconds()
	if o.Error = failure; failure != "" {
		return o, nil
	}
	d, err := read(file)
	if err == nil {
		o.Value, err = t.figure.take(d)
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o, nil
}

// occupy starts a busy loop on a CPU and waits until it runs.
func (b *bench) occupy(ctx context.Context, cpu int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := command(ctx, b.self, "spin", strconv.Itoa(cpu))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("busy loop: %w", err)
	}
	stop = func() { cancel(); _ = cmd.Wait() } // it returns the error of a killed process
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		stop()
		return nil, fmt.Errorf("busy loop on CPU %d did not start: %w", cpu, err)
	}
	return stop, nil
}
