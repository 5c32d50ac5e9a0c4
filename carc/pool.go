package carc

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// pool is the cache of one receiver, shared by the connections.
//
// A share shrinks when its Granter says so, and nothing under way is revoked; it grows when others
// have shrunk, so that shares never are more than the cache. With more than 16 weights there is a
// little in hand for connections to come, a ninth at most, so that not every one has all others
// shrink; and what a connection leaves is given away when the pool has been as it is for a while.
type pool struct {
	cache      units.Bytes
	members    []*Granter
	weights    int         // that share it, rounded up
	told       units.Bytes // the sum of the shares that senders were told of
	shrinking  int         // members that are to be told of less
	wanting    bool        // one was told of less than it is to have
	hold       units.Duration
	growAt     units.Time // 0: nothing was left
	wake       units.Time // when to look at either of growAt and reviewAt; 0 never
	now        units.Time
	byActivity bool
	rank       int        // the highest priority that is active
	idle       int        // members that do not share
	reviewAt   units.Time // when to look who is active
	sensor     *Sensor
}

// activity is how long a connection is active after it was heard of (OURS).
const activity = 100 * units.Microsecond

func newPool(o *options, s *Sensor) *pool {
	return &pool{cache: o.llc, hold: o.hold, byActivity: o.share == "active", sensor: s}
}

func (p *pool) join(g *Granter) {
	if p.byActivity {
		p.wake = moment(p.now)
	}
	g.place = len(p.members)
	p.members = append(p.members, g)
	p.weigh(false)
}

// leave takes a connection out, with what its program had not consumed.
func (p *pool) leave(g *Granter) {
	last := len(p.members) - 1
	p.members[g.place] = p.members[last]
	p.members[g.place].place = g.place
	p.members[last] = nil
	p.members = p.members[:last]
	p.told -= g.share
	g.share = 0
	p.growAt = moment(p.now.Add(p.hold))
	p.wake = sooner(p.wake, p.growAt)
	p.weigh(false)
}

// tick looks after what time brings.
func (p *pool) tick(now units.Time) {
	p.now = now
	if p.wake != 0 && !p.wake.After(now) {
		p.awake(now)
	}
}

func (p *pool) awake(now units.Time) {
	if p.growAt != 0 && !p.growAt.After(now) {
		p.growAt = 0
		p.weigh(true)
	}
	if p.byActivity && !p.reviewAt.After(now) {
		p.reviewAt = moment(now.Add(activity))
		p.review(now)
	}
	p.wake = sooner(p.growAt, p.reviewAt)
}

// review finds who is no longer active.
func (p *pool) review(now units.Time) {
	changed := false
	for _, g := range p.members {
		if g.active && g.unconsumed == 0 && now.Sub(g.heardAt) > activity {
			g.active, changed = false, true
		}
	}
	if changed {
		p.weigh(true)
	}
}

// active is that a connection was heard of.
func (p *pool) active(g *Granter, now units.Time) {
	g.heardAt = now
	if !g.active {
		g.active = true
		p.weigh(true)
	}
}

// weigh computes the weights anew, fewer only where they may be. Who has too much is asked to say
// so, and then the others.
func (p *pool) weigh(fewer bool) {
	sum := p.sum()
	weights := roundUp(sum)
	if weights < p.weights && !fewer && !p.byActivity { // there activity says so
		weights = p.weights
	}
	p.weights = weights
	p.sensor.version++
	p.shrinking, p.wanting = 0, false
	for _, g := range p.members {
		target := p.target(g)
		if g.shrinks = target < g.share; g.shrinks {
			p.shrinking++
		}
		p.wanting = p.wanting || target > g.share
	}
	for _, g := range p.members {
		if g.shrinks || p.shrinking == 0 || g.share == 0 {
			g.ask(p.now)
		}
	}
}

// sum answers the weights of those that share.
func (p *pool) sum() (sum int) {
	p.rank, p.idle = -1, 0
	for _, g := range p.members {
		if p.byActivity && g.active {
			p.rank = max(p.rank, g.priority)
		}
	}
	for _, g := range p.members {
		if p.shares(g) {
			sum += g.weight
		} else {
			p.idle++
		}
	}
	return sum
}

// shares says whether a connection shares the pool: with share=active those of the highest priority
// that are active, and all when none is.
func (p *pool) shares(g *Granter) bool {
	return p.rank < 0 || g.active && g.priority == p.rank
}

// roundUp answers four significant bits of the weights.
func roundUp(weights int) int {
	low := max(0, bits.Len(uint(weights))-4)
	return (weights + 1<<low - 1) >> low << low
}

// target is C of formula (1), with weights, in bytes of the cache.
func (p *pool) target(g *Granter) units.Bytes {
	if !p.shares(g) {
		return g.floor
	}
	return max(g.floor,
		(p.cache-units.Bytes(p.idle)*g.floor)*units.Bytes(g.weight)/units.Bytes(p.weights))
}

// share is what a connection may be told of now.
func (p *pool) share(g *Granter) units.Bytes {
	return min(p.target(g), max(g.floor, g.share+p.cache-p.told))
}

// tell is that a connection is told of a share.
func (p *pool) tell(g *Granter, share units.Bytes) {
	p.told += share - g.share
	g.share = share
	if !g.shrinks || p.target(g) < share {
		return
	}
	g.shrinks = false
	if p.shrinking--; p.shrinking > 0 || !p.wanting {
		return
	}
	p.wanting = false
	p.sensor.version++
	for _, m := range p.members {
		m.ask(p.now)
	}
}
