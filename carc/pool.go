package carc

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// pool is the cache of one receiver, shared by its connections.
//
// A share shrinks when its Granter announces it; nothing outstanding is revoked. A share grows only
// when others have shrunk, so the shares together never exceed the cache. Connections that join
// before any share was announced have exactly the shares of formula (1). When the sum of the
// weights changes later, it is rounded up to four significant bits. This keeps at most a ninth of
// the cache in reserve when the sum exceeds 16, so that not every new connection makes all others
// shrink. The share of a connection that ends is distributed after the time hold.
type pool struct {
	cache          units.Bytes
	members        []*Granter
	weights        int         // of the members that share the pool; rounded up if it changed
	announced      units.Bytes // the sum of the announced shares
	shrinking      int         // members to which a smaller share is to be announced
	mustGrow       bool        // a member is to get more than its announced share
	hold           units.Duration
	growAt         units.Time // when to distribute what connections left; 0: nothing to distribute
	nextTick       units.Time // the earlier of growAt and reviewAt; 0: neither is set
	now            units.Time
	byActivity     bool
	activePriority int        // the highest priority of an active member
	excluded       int        // members that do not share the pool
	reviewAt       units.Time // when to look for members that are no longer active
	sensor         *Sensor
}

// activity is how long a connection counts as active after its last message (OURS).
const activity = 100 * units.Microsecond

func newPool(o *options, s *Sensor) *pool {
	return &pool{cache: o.llc, hold: o.hold, byActivity: o.share == "active", sensor: s}
}

func (p *pool) join(g *Granter) {
	if p.byActivity {
		p.nextTick = nonZero(p.now)
	}
	g.index = len(p.members)
	p.members = append(p.members, g)
	p.reweigh(false)
}

// leave removes a connection.
func (p *pool) leave(g *Granter) {
	last := len(p.members) - 1
	p.members[g.index] = p.members[last]
	p.members[g.index].index = g.index
	p.members[last] = nil
	p.members = p.members[:last]
	p.announced -= g.share
	g.share = 0
	p.growAt = nonZero(p.now.Add(p.hold))
	p.nextTick = earlier(p.nextTick, p.growAt)
	p.reweigh(false)
}

// tick runs the timers of the pool.
func (p *pool) tick(now units.Time) {
	p.now = now
	if p.nextTick != 0 && !p.nextTick.After(now) {
		p.runTimers(now)
	}
}

func (p *pool) runTimers(now units.Time) {
	if p.growAt != 0 && !p.growAt.After(now) {
		p.growAt = 0
		p.reweigh(true)
	}
	if p.byActivity && !p.reviewAt.After(now) {
		p.reviewAt = nonZero(now.Add(activity))
		p.review(now)
	}
	p.nextTick = earlier(p.growAt, p.reviewAt)
}

// review finds the connections that are no longer active.
func (p *pool) review(now units.Time) {
	changed := false
	for _, g := range p.members {
		if g.active && g.unconsumed == 0 && now.Sub(g.activeAt) > activity {
			g.active, changed = false, true
		}
	}
	if changed {
		p.reweigh(true)
	}
}

// markActive marks a connection as active.
func (p *pool) markActive(g *Granter, now units.Time) {
	g.activeAt = now
	if !g.active {
		g.active = true
		p.reweigh(true)
	}
}

// reweigh recomputes the sum of the weights, which decreases only if fewer is set, and updates the
// shares: those that must shrink first, then the others.
func (p *pool) reweigh(fewer bool) {
	sum := p.sum()
	weights := sum
	if p.announced > 0 {
		weights = roundUp(sum)
	}
	if weights < p.weights && !fewer && !p.byActivity {
		weights = p.weights
	}
	p.weights = weights
	p.sensor.version++
	p.shrinking, p.mustGrow = 0, false
	for _, g := range p.members {
		target := p.target(g)
		if g.mustShrink = target < g.share; g.mustShrink {
			p.shrinking++
		}
		p.mustGrow = p.mustGrow || target > g.share
	}
	for _, g := range p.members {
		if g.mustShrink || p.shrinking == 0 || g.share == 0 {
			g.onPoolChange(p.now)
		}
	}
}

// sum returns the sum of the weights of the members that share the pool.
func (p *pool) sum() (sum int) {
	p.activePriority, p.excluded = -1, 0
	for _, g := range p.members {
		if p.byActivity && g.active {
			p.activePriority = max(p.activePriority, g.priority)
		}
	}
	for _, g := range p.members {
		if p.isSharing(g) {
			sum += g.weight
		} else {
			p.excluded++
		}
	}
	return sum
}

// isSharing reports whether a connection shares the pool. With share=active these are the active
// connections of the highest priority, or all connections if none is active.
func (p *pool) isSharing(g *Granter) bool {
	return p.activePriority < 0 || g.active && g.priority == p.activePriority
}

// roundUp rounds a sum of weights up to four significant bits.
func roundUp(weights int) int {
	low := max(0, bits.Len(uint(weights))-4)
	return (weights + 1<<low - 1) >> low << low
}

// target returns C of formula (1), with weights, in bytes of the cache.
func (p *pool) target(g *Granter) units.Bytes {
	if !p.isSharing(g) {
		return g.floor
	}
	return max(g.floor,
		(p.cache-units.Bytes(p.excluded)*g.floor)*units.Bytes(g.weight)/units.Bytes(p.weights))
}

// availableShare returns the share that can be announced to a connection now.
func (p *pool) availableShare(g *Granter) units.Bytes {
	return min(p.target(g), max(g.floor, g.share+p.cache-p.announced))
}

// announce records a share as announced to a connection.
func (p *pool) announce(g *Granter, share units.Bytes) {
	p.announced += share - g.share
	g.share = share
	if !g.mustShrink || p.target(g) < share {
		return
	}
	g.mustShrink = false
	if p.shrinking--; p.shrinking > 0 || !p.mustGrow {
		return
	}
	p.mustGrow = false
	p.sensor.version++
	for _, m := range p.members {
		m.onPoolChange(p.now)
	}
}
