package workload

import (
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// pair is who sends to whom.
type pair struct{ src, dst int }

// batches is the Source of traffic that starts many flows at the same moment; each such moment is
// a Group.
type batches struct {
	clock clock
	draw  func(pairs []pair) []pair // appends those of the next moment, at least one
	sizes *Sizes
	rng   *rand.Rand
	class int

	at    units.Time
	pairs []pair // of this moment
	sent  int    // of them
	group int
	id    uint64
}

func newBatches(clock clock, draw func([]pair) []pair, sizes *Sizes, rng *rand.Rand,
	class int) *batches {
	return &batches{clock: clock, draw: draw, sizes: sizes, rng: rng, class: class, group: -1}
}

// Next implements Source.
func (b *batches) Next() (Flow, bool) {
	if b.sent == len(b.pairs) {
		at, ok := b.clock.next()
		if !ok {
			return Flow{}, false
		}
		b.at, b.pairs, b.sent = at, b.draw(b.pairs[:0]), 0
		b.group++
	}
	p := b.pairs[b.sent]
	f := Flow{ID: b.id, At: b.at, Src: p.src, Dst: p.dst, Bytes: b.sizes.Sample(b.rng),
		Group: b.group, Class: b.class}
	b.sent++
	b.id++
	return f, true
}
