package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// How long a response is expected follows from how long responses took, within bounds.
func TestResponseWait(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers units.Duration // the time that each of many responses takes
		want    units.Duration
	}{
		{"no responses yet", 0, 100 * us},
		{"responses of 5 us", 5 * us, 100 * us},
		{"responses of 50 us", 50 * us, 200 * us},
		{"responses of 1 ms", units.Millisecond, 2 * units.Millisecond},
		{"responses of a second", units.Second, 2 * units.Millisecond},
	} {
		var e Endpoint
		now := at(10)
		assert.False(t, e.Loop().ExpectsResponse(now), "nothing has left")
		for range 100 {
			if c.answers > 0 {
				e.responseWait.onSent(now)
				now = now.Add(c.answers)
				e.responseWait.onAllAcked(now)
			}
		}
		now = now.Add(units.Second)
		assert.False(t, e.Loop().ExpectsResponse(now), c.name)
		e.responseWait.onSent(now)
		assert.InDelta(t, c.want.Microseconds(), e.responseWait.until.Sub(now).Microseconds(), 0.1,
			c.name)
		assert.True(t, e.Loop().ExpectsResponse(now.Add(c.want*99/100)), c.name)
		assert.False(t, e.Loop().ExpectsResponse(now.Add(c.want*101/100)), c.name)
	}
}

// One late answer counts one eighth.
func TestResponseWaitIsSmoothed(t *testing.T) {
	var s responseWait
	s.onSent(at(0))
	s.onAllAcked(at(400))
	assert.Equal(t, 50*us, s.rtt)
	s.onSent(at(1000))
	s.onAllAcked(at(1050))
	assert.Equal(t, 50*us, s.rtt)
	s.onSent(at(2000))
	s.onAllAcked(at(4_000_000))
	assert.Equal(t, 50*us+(2*units.Millisecond-50*us)/8, s.rtt,
		"an answer counts as at most 2 ms")
}

// A response is expected to data and probes, until a while after the newest left; not to responses,
// nor to packets that are not acknowledged.
func TestExpectsResponse(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(p *pair, a, b *side, s *steered)
		kind   QPType
		ours   bool
		theirs bool
	}{
		{"nothing", func(*pair, *side, *side, *steered) {}, RC, false, false},
		{"a WRITE", func(p *pair, a, b *side, _ *steered) { a.write(p.t, b, 64) }, RC, true, false},
		{"a READ", func(p *pair, a, b *side, _ *steered) {
			a.post(p.t, WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 64)},
				RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		}, RC, true, false},
		{"a WRITE of the peer's", func(p *pair, a, b *side, _ *steered) {
			b.write(p.t, a, 64)
		}, RC, false, true},
		{"a WRITE that is not acknowledged", func(p *pair, a, b *side, _ *steered) {
			a.write(p.t, b, 64)
		}, UC, false, false},
		{"a probe", func(p *pair, _, _ *side, s *steered) { s.probeAt(p.now) }, RC, true, false},
	} {
		o := probing()
		o.kind = c.kind
		if c.kind != RC {
			o.features = 0
		}
		p, a, b, s := steeredPair(t, o)
		p.settle(10 * units.Millisecond)
		require.False(t, p.a.Loop().ExpectsResponse(p.now), c.name)
		c.do(p, a, b, s)
		p.settle(50 * us)
		assert.Equal(t, c.ours, p.a.Loop().ExpectsResponse(p.now), c.name)
		assert.Equal(t, c.theirs, p.b.Loop().ExpectsResponse(p.now), c.name)
		p.settle(units.Millisecond)
		assert.False(t, p.a.Loop().ExpectsResponse(p.now), "%s: the answer arrived, or will not",
			c.name)
		assert.False(t, p.b.Loop().ExpectsResponse(p.now), c.name)
	}
}
