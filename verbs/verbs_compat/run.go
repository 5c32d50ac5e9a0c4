package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// runs runs cells one after another.
type runs struct {
	roceRun string
	dir     string // of the sockets of memif
	limit   time.Duration
	count   int
	pair    *namespaces
}

// cell runs one cell.
func (r *runs) cell(ctx context.Context, c cell) result {
	res := result{cell: c, version: version(c.suite)}
	path, err := exec.LookPath(c.program)
	if err != nil {
		res.reason = "not installed"
		return res
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	r.count++
	if c.ranks > 0 {
		res.reason = r.mpi(ctx, &c)
		return res
	}
	url := "memif:" + filepath.Join(r.dir, fmt.Sprintf("%d.sock", r.count))
	here := side{cell: &c, flags: []string{"-d", url}}
	there := side{cell: &c, flags: []string{"-d", url + ",client"}}
	if c.pair {
		if err := r.setPair(&c, &here, &there); err != nil {
			res.reason = err.Error()
			return res
		}
	}
	args := strings.Fields(c.args)
	if c.single {
		res.reason = explain(c.program, r.start(ctx, here, path, args).wait(), c.want)
		return res
	}
	server := r.start(ctx, here, path, append(args, strings.Fields(c.server)...))
	res.reason = r.client(ctx, there, server)
	if res.reason == "" && c.copies {
		res.reason = compare(path, filepath.Join(r.dir, "copy"))
	}
	if res.reason != "" || c.endless {
		server.stop()
	}
	reason := explain("server", server.wait(), "")
	if res.reason == "" && !c.disconnectFails && !c.endless {
		res.reason = reason
	}
	return res
}

// client runs the client and returns why it failed, or "". One that is too early for a server of
// the RDMA CM is refused, and runs again.
func (r *runs) client(ctx context.Context, where side, server *process) (reason string) {
	c := where.cell
	program := cmp.Or(c.clientProgram, c.program)
	client := strings.ReplaceAll(cmp.Or(c.client, "localhost"), "DIR", r.dir)
	args := append(strings.Fields(c.args), strings.Fields(client)...)
	if c.clientArgs != "" {
		args = strings.Fields(c.clientArgs)
	}
	if !c.cm {
		waitForListener(ctx, server)
		return explain("client", r.start(ctx, where, program, args).wait(), c.want)
	}
	for {
		reason = explain("client", r.start(ctx, where, program, args).wait(), c.want)
		if reason == "" {
			return reason
		}
		select {
		case <-server.ended:
			return reason
		case <-ctx.Done():
			return reason
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// compare returns how a copy differs from a file, or "".
func compare(file, copied string) string {
	want, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	got, err := os.ReadFile(copied)
	if err != nil {
		return err.Error()
	}
	if !bytes.Equal(got, want) {
		return fmt.Sprintf("the copy of %s has %d bytes and is not the same", file, len(got))
	}
	return ""
}

// side is where a process of a cell runs.
type side struct {
	cell          *cell
	prefix, flags []string // before roce_run, and of it
}

// setPair gives the sides namespaces.
func (r *runs) setPair(c *cell, here, there *side) error {
	if r.pair == nil {
		pair, err := newNamespaces()
		if err != nil {
			return err
		}
		r.pair = pair
	}
	here.prefix, there.prefix = r.pair.prefix(0), r.pair.prefix(1)
	if c.packets {
		here.flags = []string{"-d", "af_packet:" + veth, "--ip", serverAddress + "/15"}
		there.flags = []string{"-d", "af_packet:" + veth, "--ip", clientAddress + "/15"}
	}
	return nil
}

// process is one side of a cell.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	err    error
	ended  chan struct{}
	stop   context.CancelFunc
}

func (r *runs) start(ctx context.Context, where side, program string, args []string) *process {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{ended: make(chan struct{}), stop: cancel}
	command := append(slices.Clone(where.prefix), r.roceRun)
	command = append(append(command, where.flags...), where.cell.flags...)
	command = append(command, "--", program)
	command = append(command, args...)
	p.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	p.cmd.Env = append(os.Environ(), where.cell.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.WaitDelay = time.Second
	if p.err = p.cmd.Start(); p.err != nil {
		close(p.ended)
		return p
	}
	go func() {
		p.err = p.cmd.Wait()
		if ctx.Err() != nil {
			p.err = errors.Join(errors.New("it did not end"), p.err)
		}
		close(p.ended)
	}()
	return p
}

func (p *process) wait() *process {
	<-p.ended
	p.stop()
	return p
}

// ports are where the programs' servers listen: ibverbs-utils and perftest, qperf, UCX.
var ports = []int{18515, 19765, 13337}

// waitForListener waits until the server listens. Connecting to find out would disturb it.
func waitForListener(ctx context.Context, server *process) {
	for ctx.Err() == nil {
		for _, port := range ports {
			l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
			if err != nil {
				return
			}
			_ = l.Close()
		}
		select {
		case <-server.ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// explain returns why a process failed, or "".
func explain(who string, p *process, want string) string {
	text := p.output.String()
	if p.err != nil {
		return fmt.Sprintf("%s: %v: %s", who, firstLine(p.err.Error()), lastLine(text))
	}
	if want != "" && !regexp.MustCompile(want).MatchString(text) {
		return fmt.Sprintf("%s: output without results: %s", who, lastLine(text))
	}
	return ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n -")
	return strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:])
}

var versions = map[string]string{}

// version returns the version of an installed Debian package.
func version(suite string) string {
	v, ok := versions[suite]
	if !ok {
		out, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", suite).Output()
		if v = string(out); err != nil {
			v = "?"
		}
		versions[suite] = v
	}
	return v
}
