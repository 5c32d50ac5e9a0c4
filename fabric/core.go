package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// core is when a host's poller runs, for a host that naps, is preempted, or shares its core. A host
// without any of these has none: its poller looks at the port all the time.
//
// Rounds without work are not simulated. When there is something to do, ready reports whether the
// poller looks at that moment, and otherwise when it may look next.
type core struct {
	host   *Host
	naps   naps
	absent *absences // nil: it is never preempted
	turns  *turns    // nil: the core is its own

	polled units.Time // the last round
	worked units.Time // the last round in which something moved
	until  units.Time // no round is before
	waits  bool       // something is to be done, but the poller did not look
	looked units.Time // then: the last moment at which it did
}

// validate returns an error when the configuration of the poller's core is impossible.
func (c *HostConfig) validate() error {
	for _, err := range []error{c.Naps.validate(), c.Preemption.validate(), c.Share.validate()} {
		if err != nil {
			return err
		}
	}
	return c.Coalesce.validate()
}

// buildCore makes the host's core when it needs one.
func (h *Host) buildCore() error {
	c := &h.config
	if err := c.validate(); err != nil {
		return fmt.Errorf("fabric: %v: %w", h, err)
	}
	if c.Naps.Short == 0 && c.Preemption.Every == 0 && c.Share.Core == 0 {
		return nil
	}
	k := &core{host: h, naps: naps{Naps: c.Naps, rng: h.random(napping)}}
	if c.Preemption.Every > 0 {
		stream := h.random(preempting)
		if c.Preemption.InStep {
			stream = h.net.random(preempting, 0)
		}
		k.absent = newAbsences(c.Preemption, stream)
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

// The streams of random numbers of hosts.
const (
	napping uint64 = 1 + iota
	preempting
	sharing
)

// random returns a source of its own for a use by a host: what one host draws changes nothing for
// another, nor for the rest of the network.
func (h *Host) random(use uint64) *rand.Rand { return h.net.random(use, uint64(h.index)+1) }

func (n *Network) random(use, of uint64) *rand.Rand {
	return rand.New(rand.NewPCG(n.config.Seed, 0x686f7374<<32|use<<28|of))
}

// begin starts a life of the host: its poller polls now, or when it first has its core.
func (c *core) begin(now units.Time) {
	c.polled, c.worked, c.until, c.waits = now, now, now, false
}

// ready returns now when the poller looks at the port now, and otherwise a moment before which it
// does not.
func (c *core) ready(now units.Time) units.Time {
	at, from, away := now, now, false
	if a := c.absent; a != nil {
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
	case away && !c.waits:
		c.waits, c.looked = true, c.lookedBefore(from)
	case !away && !c.waits: // a nap that ended while the core was gone is over
		start, end := c.naps.at(now, c.worked, c.resumed())
		if start < now {
			c.waits, c.looked = true, start
			at = max(now, min(end, c.host.deadline))
		}
	}
	c.until = at
	return at
}

// resumed is when the poller last got its core, or polled.
func (c *core) resumed() units.Time {
	at := c.polled
	if c.absent != nil {
		at = max(at, c.absent.ended)
	}
	if c.turns != nil {
		at = max(at, c.turns.begin)
	}
	return at
}

// lookedBefore returns the last moment at which the poller looked at its port before it lost its
// core. Where that cannot be told it is the last round.
func (c *core) lookedBefore(lost units.Time) units.Time {
	if lost.Before(c.polled) {
		return c.polled
	}
	resumed := c.polled
	if a := c.absent; a != nil {
		if a.ended.After(lost) { // it was preempted meanwhile, too
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

// round notes a round that is about to begin, and returns until when the poller has looked in vain.
func (c *core) round(now units.Time) units.Time {
	looked := now
	if c.waits {
		looked = max(c.looked, c.polled)
	}
	c.polled, c.waits = now, false
	return looked
}
