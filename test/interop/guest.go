package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// agent is a shell's program: it runs commands that it reads, as many at a time as it is told, and
// writes what came of each. One connection serves all cells; one for each would take a third of a
// second of an emulated processor.
//
//go:embed agent.sh
var agent string

// guest runs programs in a virtual machine.
type guest struct {
	name  string
	shell *exec.Cmd
	in    io.WriteCloser
	lost  chan struct{} // closed when the connection is

	mu      sync.Mutex
	running map[string]*program
	count   int
}

var errGuestLost = errors.New("the connection to the guest is lost")

// shift is how long the agent may live.
const shift = "86400"

// enter starts the agent in a guest that is up.
func enter(root, name string) (*guest, error) {
	return talk(name, exec.Command(root+"/scripts/interop/exec", "-g", name, "-t", shift, agent))
}

// talk starts a command that runs the agent.
func talk(name string, shell *exec.Cmd) (*guest, error) {
	g := &guest{name: name, shell: shell, running: map[string]*program{}, lost: make(chan struct{})}
	g.shell.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := g.shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := g.shell.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.shell.Start(); err != nil {
		return nil, fmt.Errorf("guest %s: %w", name, err)
	}
	g.in = in
	go g.listen(out)
	return g, nil
}

// start runs a line of the guest's shell, its words as they are; after the limit it is ended.
func (g *guest) start(limit time.Duration, line ...string) *program {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
	id := fmt.Sprint(g.count)
	p := &program{line: line, place: "guest " + g.name, ended: make(chan struct{})}
	p.signal = func(s syscall.Signal) {
		g.mu.Lock()
		defer g.mu.Unlock()
		_, _ = fmt.Fprintf(g.in, "kill %s %d\n", id, s)
	}
	text := base64.StdEncoding.EncodeToString([]byte(strings.Join(line, " ")))
	g.running[id] = p
	_, err := fmt.Fprintf(g.in, "run %s %d %s\n", id, max(1, int(limit.Seconds())), text)
	select {
	case <-g.lost:
		err = errGuestLost
	default:
	}
	if err != nil {
		delete(g.running, id)
		p.finish(outcome{fault: errGuestLost})
	}
	return p
}

// run runs a line to its end, and answers what it printed.
func (g *guest) run(ctx context.Context, limit time.Duration, line string) (string, error) {
	o, err := g.start(limit, line).wait(ctx)
	if err == nil {
		err = o.err()
	}
	if err != nil {
		return "", fmt.Errorf("in guest %s: %s: %w", g.name, line, err)
	}
	return o.out, nil
}

// listen reads what the agent says: "end ID CODE OUT ERR", the last two in base64 after a colon.
func (g *guest) listen(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		id, o, err := ended(line)
		if err != nil {
			continue // what a shell says of itself
		}
		g.mu.Lock()
		p := g.running[id]
		delete(g.running, id)
		g.mu.Unlock()
		if p != nil {
			p.finish(o)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.lost)
	for _, p := range g.running {
		p.finish(outcome{fault: errGuestLost})
	}
	clear(g.running)
}

var errNotEnded = errors.New("not of the agent")

// ended reads what the agent says of a run that ended.
func ended(line string) (id string, o outcome, err error) {
	const words = 5
	f := strings.Fields(line)
	if len(f) != words || f[0] != "end" || f[3][0] != ':' || f[4][0] != ':' {
		return "", o, errNotEnded
	}
	code, err := strconv.Atoi(f[2])
	out, outErr := base64.StdEncoding.DecodeString(f[3][1:])
	errs, errsErr := base64.StdEncoding.DecodeString(f[4][1:])
	return f[1], outcome{code: code, out: string(out), errs: string(errs)}, errors.Join(err, outErr,
		errsErr)
}

// leave ends the agent, and what it runs.
func (g *guest) leave() {
	_ = g.in.Close()
	select {
	case <-g.lost:
	case <-time.After(2 * time.Second):
		_ = g.shell.Process.Kill()
	}
	_ = g.shell.Wait()
}
