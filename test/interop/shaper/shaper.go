package shaper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// End is one of the two things that a shaper connects: Read returns a received frame, Write sends
// one. *os.File of a packet socket is an End.
type End interface {
	io.ReadWriter
	SetReadDeadline(time.Time) error
}

// Shaper forwards between two ends.
type Shaper struct {
	ends       [2]End
	directions [2]*direction // from the end of the same index
	ignored    net.HardwareAddr
}

// New returns a shaper, not yet running. Frames to the address ignored, if not nil, are not
// forwarded: they are meant for an end's own kernel.
func New(a, b End, ignored net.HardwareAddr, f Faults, seed uint64) *Shaper {
	s := &Shaper{
		ends: [2]End{a, b}, ignored: ignored,
		directions: [2]*direction{newDirection(f, seed, 0), newDirection(f, seed, 1)},
	}
	if f.Notify {
		n := new(notice)
		s.directions[0].tell, s.directions[1].told = n, n
	}
	return s
}

// Run forwards until the context ends or a frame cannot be read.
func (s *Shaper) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		for _, e := range s.ends {
			_ = e.SetReadDeadline(time.Unix(1, 0))
		}
	})
	defer stop()
	var wg sync.WaitGroup
	for i := range s.ends {
		wg.Go(func() {
			if err := s.forward(ctx, s.ends[i], s.ends[1-i], s.directions[i]); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// maxFrame exceeds the frame length of any link here.
const maxFrame = 1 << 16

// forward is the loop of one direction.
func (s *Shaper) forward(ctx context.Context, from, to End, d *direction) error {
	// Frames that do not fit the other end's queue are lost, as on any wire.
	emit := func(frame []byte) { _, _ = to.Write(frame) }
	frame := make([]byte, maxFrame)
	for ctx.Err() == nil {
		if err := from.SetReadDeadline(d.expire(time.Now(), emit)); err != nil {
			return fmt.Errorf("shaper: %w", err)
		}
		if ctx.Err() != nil { // ctx may have ended before the deadline was set
			return nil
		}
		n, err := from.Read(frame)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case err != nil:
			return fmt.Errorf("shaper: %w", err)
		case len(s.ignored) > 0 && bytes.HasPrefix(frame[:n], s.ignored):
			continue
		}
		d.pass(frame[:n], time.Now(), emit)
	}
	return nil
}

// Counts returns the counts of both directions, from the first end and from the second. It must be
// called after Run.
func (s *Shaper) Counts() [2]Counts {
	return [2]Counts{s.directions[0].counts, s.directions[1].counts}
}
