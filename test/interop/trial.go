package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/test/interop/report"
)

// trial is one run of a cell.
type trial struct {
	cell         matrix.Cell
	ours, theirs *program

	row    report.Row
	totals report.Totals
	wire   [2]counts       // ours, and the guest's; of an impaired cell
	rxe    report.RXE      // likewise
	seen   []report.Glance // of our congestion control, in a watched cell
	tries  int
	took   time.Duration
	err    error
}

// maxTries is how often a cell of an unreliable service is tried: a message dropped by a full queue
// of this machine is not an error there, but leaves both ends waiting.
const maxTries = 3

// try runs a cell, repeatedly for unreliable services.
func (l *lab) try(ctx context.Context, c matrix.Cell) *trial {
	begun := time.Now()
	for tries := 1; ; tries++ {
		t := l.once(ctx, c)
		t.tries, t.took = tries, time.Since(begun)
		if t.err == nil || c.Service == matrix.RC || tries == maxTries || ctx.Err() != nil {
			return t
		}
	}
}

// patience returns the time limit of a cell: far more than needed, since others use this machine,
// too.
func patience(c matrix.Cell) time.Duration {
	limit := 20*time.Second + time.Duration(6*c.Seconds()*float64(time.Second))
	if c.Impair != matrix.Clean {
		limit += 40 * time.Second // timeouts, one after the other
	}
	return limit
}

func (l *lab) once(ctx context.Context, c matrix.Cell) *trial {
	t := &trial{cell: c}
	limit := patience(c)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	defer func() { // after all results are known
		if t.err == nil {
			t.err = t.controlled()
		}
	}()
	if c.Test == matrix.Rping && c.Control == matrix.DCQCN {
		restore, err := l.peer.capable(ctx)
		if t.err = err; err != nil {
			return t
		}
		defer restore()
	}
	at := iface
	if c.Impair != matrix.Clean {
		at = shapedEnd
		before, err := l.peer.counters(ctx)
		if t.err = err; err != nil {
			return t
		}
		stop, err := l.wire.shape(ctx, l.root, rules(c), seedOf(c))
		if t.err = err; err != nil {
			return t
		}
		defer func() {
			did, err := stop()
			after, errAfter := l.peer.counters(context.WithoutCancel(ctx))
			t.wire, t.rxe, t.err = did, after.Since(before), errors.Join(t.err, err, errAfter)
			if t.err == nil && did[0].faults()+did[1].faults() == 0 {
				t.err = errors.New("the wire impaired no packet: too few packets")
			}
		}()
	}
	if t.err = l.move(ctx, at); t.err != nil {
		return t
	}
	json := filepath.Join(os.TempDir(), fmt.Sprintf("interop-%d.json", os.Getpid()))
	defer os.Remove(json)
	defer os.Remove(matrix.Watch(json))
	t.err = l.both(ctx, t, c.Ours(l.bin(), at, json), limit)
	var ours, theirs outcome
	for p, o := range map[*program]*outcome{t.ours: &ours, t.theirs: &theirs} {
		if p != nil {
			p.end()
			*o = p.outcome()
		}
	}
	if t.err == nil {
		t.row, t.err = judge(c, ours, theirs)
	}
	if document, err := os.ReadFile(json); err == nil {
		t.totals, err = report.Document(document)
		t.err = errors.Join(t.err, err)
	}
	if lines, err := os.ReadFile(matrix.Watch(json)); err == nil {
		t.seen, err = report.Watch(lines)
		t.err = errors.Join(t.err, err)
	}
	return t
}

// seedOf returns the seed of a cell's wire, a hash of its name.
func seedOf(c matrix.Cell) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.String()))
	return h.Sum64()
}

// counters reads rxe's hardware counters.
func (g *guest) counters(ctx context.Context) (report.RXE, error) {
	text, err := g.run(ctx, 20*time.Second,
		"grep . /sys/class/infiniband/rxe0/ports/1/hw_counters/*")
	if err != nil {
		return nil, err
	}
	return report.ReadRXE(text)
}

// both starts the server, then the client once that listens, and waits for both.
func (l *lab) both(ctx context.Context, t *trial, ours []string, limit time.Duration) error {
	if t.cell.Role == matrix.Server {
		t.ours = launch(ours...)
		if err := l.serving(ctx, t.cell, t.ours); err != nil {
			return err
		}
		t.theirs = l.peer.start(limit, t.cell.Theirs()...)
	} else {
		t.theirs = l.peer.start(limit, t.cell.Theirs()...)
		if err := l.listening(ctx, l.peer, t.cell, t.theirs); err != nil {
			return err
		}
		t.ours = launch(ours...)
	}
	return finish(ctx, t.ours, t.theirs)
}

// finish waits for two programs. When one fails, the other has a moment to notice; judge evaluates
// the outputs of both.
func finish(ctx context.Context, a, b *program) error {
	const moment = 5 * time.Second
	select {
	case <-a.ended:
	case <-b.ended:
		a, b = b, a
	case <-ctx.Done():
		return fmt.Errorf("both hang: %w", context.Cause(ctx))
	}
	if err := a.outcome().err(); err != nil {
		select {
		case <-b.ended:
		case <-time.After(moment):
		}
		return nil
	}
	_, err := b.wait(ctx)
	return err
}

// transcript returns a program's command line, output, errors and exit code.
func (p *program) transcript() string {
	o := p.outcome()
	text := fmt.Sprintf("# %s\n%s\n# output\n%s# errors\n%s# exit code %d\n", p.place,
		strings.Join(p.line, " "), o.out, o.errs, o.code)
	if o.fault != nil {
		text += "# " + o.fault.Error() + "\n"
	}
	return text
}
