package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goroce/goroce/test/interop/differ"
)

// differing compares rxe with goroce packet by packet (package differ).
type differing struct {
	lab     *lab
	out     io.Writer
	ours    *differ.Ours
	theirs  *differ.Theirs
	verbose bool

	packets, responses, cases, failed int
	known                             map[string]int
}

// The responder program's source, its path in the guest, and the commands that install it. They add
// permanent neighbour entries for the requester, because rxe would otherwise try to resolve an
// address that no host has.
const (
	responderSource = "test/interop/differ/guest/responder.c"
	responderThere  = "/tmp/responder"
	responderSetup  = "cat >" + responderThere + " && chmod +x " + responderThere + " && " +
		"for a in 198.18.0.77 fd18::77; " +
		"do ip neigh replace $a lladdr 02:00:00:00:00:77 dev eth0 nud permanent; done"
)

// differential runs cases from seeds, or one read from a file.
func (l *lab) differential(ctx context.Context, o options, out io.Writer) (err error) {
	d := &differing{
		lab:     l,
		out:     out,
		ours:    &differ.Ours{},
		known:   map[string]int{},
		verbose: o.verbose,
	}
	leave, err := d.meet(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	begun := time.Now()
	if o.replay != "" {
		err = d.replay(o.replay)
	} else {
		_ = os.RemoveAll(d.failures())
		err = d.seeds(ctx, o.first, o.seeds)
	}
	d.sum(time.Since(begun))
	if err == nil && d.failed > 0 {
		err = errSomeFailed
	}
	return err
}

// meet builds the responder program and starts it in the guest.
func (d *differing) meet(ctx context.Context) (leave func() error, err error) {
	program := filepath.Join(d.lab.root, ".cache/interop/responder")
	build := exec.CommandContext(
		ctx,
		"gcc",
		"-O2",
		"-Wall",
		"-Wextra",
		"-Werror",
		"-o",
		program,
		filepath.Join(d.lab.root, responderSource),
		"-libverbs",
	)
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc: %w\n%s", err, text)
	}
	binary, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	defer binary.Close()
	carry := exec.CommandContext(ctx, d.lab.root+"/scripts/interop/exec", responderSetup)
	carry.Stdin = binary
	if text, err := carry.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy the responder to the guest: %w\n%s", err, text)
	}
	cmd := exec.Command(d.lab.root+"/scripts/interop/exec", "-t", shift, responderThere)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := func() {
		_ = in.Close()
		_ = cmd.Wait() // its output is no longer needed
	}
	if d.theirs, err = differ.Meet(iface, in, said); err != nil {
		end()
		return nil, err
	}
	return func() error { end(); return d.theirs.Leave() }, nil
}

// seeds runs the cases of n seeds.
func (d *differing) seeds(ctx context.Context, first uint64, n int) error {
	const news = 100
	for i := range n {
		if ctx.Err() != nil {
			return nil
		}
		if err := d.try(differ.Generate(first + uint64(i))); err != nil {
			return err
		}
		if (i+1)%news == 0 {
			fmt.Fprintf(
				d.out,
				"%d of %d seeds, %d packets, %d failed\n",
				i+1,
				n,
				d.packets,
				d.failed,
			)
		}
	}
	return nil
}

// replay runs the case in a file.
func (d *differing) replay(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c, err := differ.Decode(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	d.verbose = true
	return d.try(c)
}

// try runs a case and reports a failure. It returns an error if the guest is lost.
func (d *differing) try(c *differ.Case) error {
	r, err := differ.Run(d.ours, d.theirs, c)
	d.cases++
	d.packets += r.Packets
	d.responses += r.Responses
	for name, n := range r.Known {
		d.known[name] += n
	}
	if err == nil && r.Unknown != nil {
		r, err = differ.Shrink(d.ours, d.theirs, r)
	}
	if err == nil && r.Unknown == nil {
		if d.verbose {
			fmt.Fprintf(d.out, "ok   %v\n%s\n", c, strings.Join(r.Trace, "\n"))
		}
		return nil
	}
	d.failed++
	fmt.Fprintf(d.out, "FAIL %v\n%s\n", r.Case, strings.Join(r.Trace, "\n"))
	if errors.Is(err, differ.ErrGone) {
		err = fmt.Errorf("%w; see its console: .cache/interop/run/a.console", err)
	}
	return errors.Join(err, d.keep(r.Case))
}

// failures returns the directory in which failed cases are stored.
func (d *differing) failures() string {
	return filepath.Join(d.lab.root, ".cache/interop/differential")
}

// keep writes a case to a file that --replay reads.
func (d *differing) keep(c *differ.Case) error {
	file := filepath.Join(d.failures(), fmt.Sprintf("seed-%d", c.Seed))
	if err := os.MkdirAll(d.failures(), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, c.Encode(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(
		d.out,
		"      again: bin/interop --differential --first %d --seeds 1, or --replay %s\n",
		c.Seed,
		strings.TrimPrefix(file, d.lab.root+"/"),
	)
	return nil
}

// sum prints the totals of all cases.
func (d *differing) sum(took time.Duration) {
	fmt.Fprintf(
		d.out,
		"\n%d cases of %d packets in %v; %d identical responses. Known differences:\n",
		d.cases,
		d.packets,
		took.Round(time.Second),
		d.responses,
	)
	most := func(a, b string) int { return cmp.Or(d.known[b]-d.known[a], strings.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(d.known), most) {
		fmt.Fprintf(d.out, "%6d  %s\n", d.known[name], name)
	}
	fmt.Fprintf(d.out, "%d passed, %d failed\n", d.cases-d.failed, d.failed)
}
