package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// core determines when a host's poller runs, for a host that naps, is preempted, or shares its
// core. A host without any of these has no core, and its poller checks the port continuously.
//
// Rounds without work are not simulated. When there is work, ready returns now if the poller checks
// the port at that moment, and otherwise when it may check next.
type core struct {
	host      *Host
	naps      naps
	preempted *preemptions // nil: never preempted
	turns     *turns       // nil: the core is not shared

	polled  units.Time // the last round
	worked  units.Time // the last round with work
	until   units.Time // no round before this time
	pending bool       // there is work, but the poller has not checked
	checked units.Time // if pending: when it last checked
}

// validate returns an error if the configuration of the poller's core is invalid.
func (c *HostConfig) validate() error {
	for _, err := range []error{c.Naps.validate(), c.Preemption.validate(), c.Share.validate()} {
		if err != nil {
			return err
		}
	}
	return c.Coalesce.validate()
}

// buildCore creates the host's core if it needs one.
func (h *Host) buildCore() error {
	c := &h.config
	if err := c.validate(); err != nil {
		return fmt.Errorf("fabric: %v: %w", h, err)
	}
	if c.Naps.Short == 0 && c.Preemption.Every == 0 && c.Share.Core == 0 {
		return nil
	}
	k := &core{host: h, naps: naps{Naps: c.Naps, rng: h.random(streamNaps)}}
	if c.Preemption.Every > 0 {
		stream := h.random(streamPreemption)
		if c.Preemption.InStep {
			stream = h.net.random(streamPreemption, 0)
		}
		k.preempted = newPreemptions(c.Preemption, stream)
	}
	if c.Share.Core > 0 {
		var err error
		if k.turns, err = h.net.join(h, c.Share); err != nil {
			return fmt.Errorf("fabric: %v: %w", h, err)
		}
	}
	h.core = k
	return nil
}

// The random number streams of a host.
const (
	streamNaps uint64 = 1 + iota
	streamPreemption
	streamShare
)

// random returns the host's random number generator for one purpose. Its draws do not affect other
// hosts or the network.
func (h *Host) random(use uint64) *rand.Rand { return h.net.random(use, uint64(h.index)+1) }

func (n *Network) random(use, of uint64) *rand.Rand {
	return rand.New(rand.NewPCG(n.config.Seed, 0x686f7374<<32|use<<28|of))
}

// begin initialises the core when its host starts. The poller polls now, or when it first has the
// core.
func (c *core) begin(now units.Time) {
	c.polled, c.worked, c.until, c.pending = now, now, now, false
}

// ready returns now if the poller checks the port now, and otherwise a time before which it does
// not.
func (c *core) ready(now units.Time) units.Time {
	at, from, away := now, now, false
	if a := c.preempted; a != nil {
		a.advance(now)
		if !a.from.After(now) {
			at, from, away = a.until, a.from, true
		}
	}
	if t := c.turns; t != nil {
		t.advance(now)
		if begin := t.next(c.host, now); begin.After(now) {
			at, from, away = max(at, begin), min(from, t.lost[c.host.seat]), true
		}
	}
	switch {
	case away && !c.pending:
		c.pending, c.checked = true, c.checkedBefore(from)
	case !away && !c.pending: // a nap that ended during an absence is over
		start, end := c.naps.at(now, c.worked, c.resumed())
		if start < now {
			c.pending, c.checked = true, start
			at = max(now, min(end, c.host.deadline))
		}
	}
	c.until = at
	return at
}

// resumed returns when the poller last got its core or polled, whichever is later.
func (c *core) resumed() units.Time {
	at := c.polled
	if c.preempted != nil {
		at = max(at, c.preempted.ended)
	}
	if c.turns != nil {
		at = max(at, c.turns.begin)
	}
	return at
}

// checkedBefore returns when the poller last checked its port before it lost its core, or the time
// of the last round if that is unknown.
func (c *core) checkedBefore(lost units.Time) units.Time {
	if lost.Before(c.polled) {
		return c.polled
	}
	resumed := c.polled
	if a := c.preempted; a != nil {
		if a.ended.After(lost) { // it was also preempted since
			return c.polled
		}
		resumed = max(resumed, a.ended)
	}
	if t := c.turns; t != nil {
		begin, had := t.held(c.host.seat, lost)
		if !had {
			return c.polled
		}
		resumed = max(resumed, begin)
	}
	start, _ := c.naps.at(lost, c.worked, resumed)
	return start
}

// round records that a round begins, and returns the last time at which the poller checked the port
// without finding work.
func (c *core) round(now units.Time) units.Time {
	checked := now
	if c.pending {
		checked = max(c.checked, c.polled)
	}
	c.polled, c.pending = now, false
	return checked
}
