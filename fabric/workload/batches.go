package workload

import (
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// pair is a sender and its receiver.
type pair struct{ src, dst int }

// batches is a Source that starts batches of flows at the same time. Each batch is a Group.
type batches struct {
	clock clock
	draw  func(pairs []pair) []pair // appends the pairs of the next batch, at least one
	sizes *Sizes
	rng   *rand.Rand
	class int
	// divide makes sizes those of batches: a flow has its sample divided by the number of flows
	divide bool

	at    units.Time
	pairs []pair // of the current batch
	sent  int    // number of pairs returned
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
	if b.divide {
		f.Bytes = max(1, f.Bytes/units.Bytes(len(b.pairs)))
	}
	b.sent++
	b.id++
	return f, true
}
