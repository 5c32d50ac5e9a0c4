package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/units"
)

// probed is a test whose flow stops before and within each message, probes the peer, which does not
// know probes, and resumes (stopgo). Every probe must be answered, the bytes must be in the peer's
// memory as sent, and the queue pairs must stay in RTS.
type probed struct {
	name string
	test matrix.Test
}

// probeds are all such tests. An ib_read_bw grants no write access, and a probe is a zero-length
// WRITE.
var probeds = []probed{{"probe/write", matrix.WriteBW}, {"probe/send", matrix.SendBW},
	{"probe/read", matrix.ReadBW}}

// probing is the result of one.
type probing struct {
	probed
	took         time.Duration
	err          error
	said         string
	ours, theirs *program
}

func (p probed) cell() matrix.Cell {
	return matrix.Cell{Test: p.test, Role: matrix.Client, Service: matrix.RC, IP: matrix.IPv4,
		Size: units.MiB, MTU: 4096, QPs: 1}
}

// ours returns the command line of our end.
func (p probed) ours(bin string) []string {
	c := p.cell()
	verb, _, _ := strings.Cut(string(p.test), "_")
	return []string{bin + "/stopgo", "-d", "af_packet:" + iface, "-ip", matrix.OurIPv4 + "/24",
		"-verb", verb, "-s", fmt.Sprint(int64(c.Size)),
		"-m", fmt.Sprint(int64(c.MTU)), "-n", strconv.Itoa(c.Iterations()), "-p",
		strconv.Itoa(matrix.Port), matrix.PeerIPv4}
}

// probe runs one test.
func (l *lab) probe(ctx context.Context, p probed) *probing {
	const limit = 100 * time.Second
	x, begun := &probing{probed: p}, time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	x.err = x.run(ctx, l, limit)
	for _, p := range []*program{x.ours, x.theirs} {
		if p != nil {
			p.end()
			x.err = errors.Join(x.err, p.outcome().err())
		}
	}
	x.took = time.Since(begun)
	return x
}

// moved matches our end's output once all messages are there, with the line on its probes before
// it.
var moved = regexp.MustCompile(
	`(?m)^(\d+ probes .*)\nmoved .* at 0x([0-9a-f]+) in the peer, ` +
		`SHA-256 ([0-9a-f]+); queue pair in RTS$`)

func (x *probing) run(ctx context.Context, l *lab, limit time.Duration) error {
	x.theirs = l.peer.start(limit, x.cell().Theirs()...)
	if err := l.listening(ctx, l.peer, x.cell(), x.theirs); err != nil {
		return err
	}
	x.ours = launch(x.probed.ours(l.bin())...)
	if err := x.ours.says(ctx, "queue pair in"); err != nil {
		return err
	}
	said := moved.FindStringSubmatch(x.ours.outcome().out)
	if said == nil {
		return fmt.Errorf("unexpected output of our end: %s", lastLine(x.ours.outcome().out))
	}
	x.said = said[1]
	address, err := strconv.ParseUint(said[2], 16, 64)
	page := uint64(os.Getpagesize())
	if err != nil || address%page != 0 {
		return fmt.Errorf("the peer's memory is at 0x%s, want a multiple of the page size %d: %w",
			said[2], page, err)
	}
	there, err := l.peer.run(ctx, limit,
		fmt.Sprintf("dd if=$(grep -lx ib_%s /proc/[0-9]*/comm | head -n 1 | sed s/comm/mem/) "+
			"bs=%d skip=%d count=%d 2>/dev/null | sha256sum", x.test, page, address/page,
			uint64(x.cell().Size)/page))
	if err != nil {
		return err
	}
	if sum, _, _ := strings.Cut(there, " "); sum != said[3] {
		return fmt.Errorf("the peer's memory has SHA-256 %s, want %s", sum, said[3])
	}
	x.ours.signal(syscall.SIGTERM) // it may finish the handshake
	return finish(ctx, x.ours, x.theirs)
}
