package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/units"
)

// controlled returns an error unless congestion control did in a trial what the cell tests.
func (t *trial) controlled() error {
	c := t.cell
	if c.Watched() && t.seen == nil {
		return errors.New("our end printed no state of its congestion control")
	}
	for _, g := range t.seen {
		if g.Goodput <= 0 {
			return fmt.Errorf("stalled: nothing was sent in the second before %.1f s", g.Elapsed)
		}
	}
	switch {
	case c.Control == matrix.Swift && c.Watched():
		return t.windows()
	case c.Control == matrix.DCQCN && c.Role == matrix.Server:
		return t.notifies()
	case c.Control == matrix.DCQCN && c.Impair == matrix.CNPs:
		return t.slows()
	case c.Control == matrix.DCQCN:
		return t.unmoved()
	}
	return nil
}

// windows checks Swift's windows: it sampled delays, it cut its window, it stayed within its
// bounds, and its last window is above the floor.
func (t *trial) windows() error {
	most := matrix.SwiftMost * t.cell.MTU
	for _, g := range t.seen {
		if g.Window <= 0 || g.Window > most {
			return fmt.Errorf("a window of %v at %.1f s, want at most %v", g.Window, g.Elapsed,
				most)
		}
		if g.Delay <= 0 {
			return fmt.Errorf("no delay was sampled until %.1f s", g.Elapsed)
		}
	}
	last := t.seen[len(t.seen)-1]
	switch {
	case float64(last.Window) < matrix.SwiftLeast*float64(t.cell.MTU):
		return fmt.Errorf("the last window is %v, %g packets", last.Window,
			float64(last.Window)/float64(t.cell.MTU))
	case last.AllCuts() == 0:
		return errors.New("the window was never cut")
	case t.cell.Impair == matrix.Clean && last.Cuts["delay"] == 0:
		return fmt.Errorf("the window was cut by %v, want by delay", last.Cuts)
	}
	return nil
}

// notifies checks that we sent CNPs for marks on the guest's packets; the guest does not respond to
// CNPs.
func (t *trial) notifies() error {
	ours, theirs := t.wire[0], t.wire[1]
	switch {
	case theirs.Marked == 0:
		return errors.New("none of the guest's packets was marked: are they ECN-capable?")
	case ours.CNPs == 0:
		return fmt.Errorf("we sent no CNP for %d marked packets", theirs.Marked)
	case ours.CNPs > theirs.Marked:
		return fmt.Errorf("we sent %d CNPs for %d marked packets", ours.CNPs, theirs.Marked)
	}
	return nil
}

// unmoved checks that marks without CNPs leave us at line rate. Timeouts are tolerated: a guest on
// a busy machine can be silent for long.
func (t *trial) unmoved() error {
	last := t.seen[len(t.seen)-1]
	switch sent := t.wire[1].CNPs; {
	case t.wire[0].Marked == 0:
		return errors.New("none of our packets was marked: are they ECN-capable?")
	case sent > 0 && last.CNPs == 0:
		return fmt.Errorf("the peer sent %d CNPs, and we received none", sent)
	case sent > 0:
		return nil // a peer newer than Linux 6.1
	}
	for _, g := range t.seen {
		if timeouts := g.Cuts["timeout"]; g.AllCuts() > timeouts || timeouts == 0 &&
			!atLine(g.Rate) {
			return fmt.Errorf("%.1f Mb/s at %.1f s after cuts %v, want line rate without CNPs",
				g.Rate*1e3, g.Elapsed, g.Cuts)
		}
	}
	return nil
}

// slows checks that CNPs slowed us down and that we are at line rate again after they ended.
func (t *trial) slows() error {
	sent := t.wire[1].Notified
	if !t.cell.Watched() { // our end prints no state; the verified data is the test
		if sent == 0 {
			return errors.New("the wire sent us no CNP")
		}
		return nil
	}
	last, slow := t.seen[len(t.seen)-1], false
	for _, g := range t.seen {
		slow = slow || g.Rate > 0 && !atLine(g.Rate)
	}
	switch {
	case last.CNPs == 0 || last.CNPs > sent: // fewer are possible: our port may drop some
		return fmt.Errorf("the wire sent us %d CNPs, and we received %d", sent, last.CNPs)
	case last.Cuts["cnp"] == 0:
		return fmt.Errorf("%d CNPs did not cut the rate", sent)
	case !slow:
		return errors.New("we were always at line rate, in spite of cuts")
	case !atLine(last.Rate):
		return fmt.Errorf("%.1f Mb/s at the end, want line rate", last.Rate*1e3)
	}
	return nil
}

// atLine reports whether a rate in Gb/s is DCQCN's line rate, within a thousandth.
func atLine(rate float64) bool {
	const nearly = 0.999
	return rate*float64(units.Gbps) > nearly*float64(matrix.LineRate)
}

// capable makes connections of the guest's RDMA CM ECN-capable until restore is called.
func (g *guest) capable(ctx context.Context) (restore func(), err error) {
	const at, limit = "/sys/kernel/config", 10 * time.Second
	const tos = at + "/rdma_cm/rxe0/ports/1/default_roce_tos"
	if _, err := g.run(ctx, limit, "grep -q configfs /proc/mounts || mount -t configfs none "+at+
		"; mkdir -p "+at+"/rdma_cm/rxe0; echo "+matrix.ECTCapable+" >"+tos); err != nil {
		return nil, err
	}
	return func() { _, _ = g.run(context.WithoutCancel(ctx), limit, "echo 0 >"+tos) }, nil
}
