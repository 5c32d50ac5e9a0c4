package wire

import (
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/assert"
)

func TestPSN(t *testing.T) {
	for _, c := range []struct {
		p, q     PSN
		distance int32
	}{
		{0, 0, 0},
		{1, 0, 1},
		{0, 1, -1},
		{0, 0xffffff, 1},
		{0xffffff, 0, -1},
		{2, 0xfffffe, 4},
		{0x7fffff, 0, 1<<23 - 1},
		{0x800000, 0, -1 << 23}, // as far as can be: both before the other
		{0, 0x800000, -1 << 23},
	} {
		assert.Equal(t, c.distance, c.p.Sub(c.q), "%x - %x", c.p, c.q)
		assert.Equal(t, c.distance < 0, c.p.Before(c.q), "%x before %x", c.p, c.q)
		assert.Equal(t, c.distance > 0 || c.distance == -1<<23, c.p.After(c.q), "%x after %x", c.p,
			c.q)
		assert.Equal(t, c.p, c.q.Add(uint32(c.distance)), "%x + %d", c.q, c.distance)
	}
}

func TestPSNProperties(t *testing.T) {
	addThenSub := func(v, n uint32) bool {
		p := PSN(v & PSNMask)
		n &= 1<<23 - 1
		q := p.Add(n)
		return q <= PSNMask && q.Sub(p) == int32(n) && p.Sub(q) == -int32(n) &&
			p.Before(q) == (n > 0) && q.After(p) == (n > 0) && !q.Before(p) && !p.After(q)
	}
	addsUp := func(v, a, b uint32) bool {
		p := PSN(v & PSNMask)
		return p.Add(a).Add(b) == p.Add(a+b)
	}
	assert.NoError(t, quick.Check(addThenSub, nil))
	assert.NoError(t, quick.Check(addsUp, nil))
}
