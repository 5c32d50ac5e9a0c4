package transport

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// ranked is an algorithm of a flow with a virtual priority.
type ranked struct {
	steered
	rank int
}

func (r *ranked) Rank() int { return r.rank }

// rankedSides are flows of one endpoint to one peer, each with its rank. A window holds four
// packets.
func rankedSides(t *testing.T, p *pair, o sideOptions, ranks ...int) (as, bs []*side,
	algorithms []*ranked) {
	for _, rank := range ranks {
		r := &ranked{steered: steered{decision: cc.Decision{Window: 4 * units.KiB}}, rank: rank}
		mine := o
		mine.algorithm = r
		a, b := mine.make(t, p.a), o.make(t, p.b)
		r.qp = a.qp
		a.connect(t, mine, b)
		b.connect(t, o, a)
		as, bs, algorithms = append(as, a), append(bs, b), append(algorithms, r)
	}
	p.settle(10 * us)
	p.la.record = true
	return as, bs, algorithms
}

// order returns, for each data packet that left, the index of its queue pair.
func (p *pair) order(bs []*side) (of []int) {
	for _, pkt := range p.la.packets() {
		if i := slices.IndexFunc(bs, func(b *side) bool {
			return b.qp.Num == pkt.DestQP
		}); i >= 0 && pkt.Op.Info().Request {
			of = append(of, i)
		}
	}
	return of
}

// Where the port has no time stamps, a flow sends nothing while one of a higher priority has
// something to send, though the window of that one is full most of the time.
func TestPrecedenceIsStrict(t *testing.T) {
	for _, c := range []struct {
		name   string
		ranks  []int // of flows that all have 64 KiB to send
		strict bool
	}{
		{"two ranks", []int{7, 0}, true},
		{"several ranks", []int{5, 4, 2, 1, 0}, true},
		{"one rank", []int{3, 3}, false},
	} {
		for _, rate := range []units.BitRate{0, 10 * units.Gbps} {
			t.Run(fmt.Sprintf("%s, %v", c.name, rate), func(t *testing.T) {
				p := newPair(t)
				as, bs, algorithms := rankedSides(t, p, defaults(), c.ranks...)
				for _, r := range algorithms {
					r.steer(cc.Decision{Window: 4 * units.KiB, Rate: rate})
				}
				for i, a := range as {
					a.write(t, bs[i], 1<<16)
					// the first packet of a paced flow leaves before the next one is posted
					if rate > 0 {
						p.settle(us)
					}
				}
				require.True(t, p.run(units.Second, func() bool {
					return !slices.ContainsFunc(as, func(a *side) bool {
						return len(a.poll()) == 0
					})
				}))
				order := p.order(bs)
				require.Len(t, order, 64*len(as))
				assert.Equal(t, c.strict, slices.IsSorted(order), "%v", order)
				p.conserved()
			})
		}
	}
}

// A flow of a higher priority that starts later interrupts the other one, inside a message.
func TestPrecedenceOfALaterFlow(t *testing.T) {
	p := newPair(t)
	as, bs, _ := rankedSides(t, p, defaults(), 7, 0)
	as[1].write(t, bs[1], 1<<16)
	p.settle(10 * us)
	before := len(p.order(bs))
	require.Less(t, before, 60)
	as[0].write(t, bs[0], 1<<16)
	p.await(as[1], 1)
	require.Len(t, p.order(bs), 128)
	assert.LessOrEqual(t, between(p.order(bs)[before:]), 4, "no more than its window")
}

// Whatever ends the claim of a flow releases those of lower priority, in order.
func TestPrecedenceIsReleased(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(t *testing.T, p *pair, a *side, r *ranked)
		sends bool // the flow sends SENDs, for which there is no receive
	}{
		{"it fails", func(_ *testing.T, _ *pair, a *side, _ *ranked) {
			a.qp.Modify(Errored, QPAttr{})
		}, false},
		{"it is reset", func(_ *testing.T, _ *pair, a *side, _ *ranked) {
			a.qp.Modify(Reset, QPAttr{})
		}, false},
		{"it is destroyed", func(_ *testing.T, _ *pair, a *side, _ *ranked) {
			a.qp.Destroy()
		}, false},
		{"its window is 0", func(_ *testing.T, _ *pair, _ *side, r *ranked) { r.stop() }, false},
		{"it begins nothing more", func(t *testing.T, _ *pair, a *side, _ *ranked) {
			require.NoError(t, a.qp.Modify(SQDrained, QPAttr{}))
		}, false},
		{"the rest is cancelled", func(t *testing.T, _ *pair, a *side, _ *ranked) {
			require.Positive(t, a.qp.Admission().CancelWaiting())
		}, false},
		{"its peer is not ready", func(_ *testing.T, p *pair, _ *side, _ *ranked) {
			p.la.tamper = nil
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := defaults()
			o.timeout = 20
			as, bs, algorithms := rankedSides(t, p, o, 7, 3, 0)
			// nothing of the first flow arrives, so its window stays full
			p.la.tamper = func(frame []byte) int {
				if pkt, ok := parsed(frame); ok && pkt.DestQP == bs[0].qp.Num {
					return 0
				}
				return 1
			}
			if c.sends {
				p.la.tamper = func(frame []byte) int { return 1 }
				p.lb.tamper = p.la.tamper
			}
			const messages = 8
			for i, a := range as {
				for range messages {
					if i == 0 && c.sends {
						a.post(t, WorkRequest{Op: OpSend, Signaled: true,
							SGList: []SGE{a.mr.SGE(0, 4096)}})
					} else {
						a.write(t, bs[i], 1024)
					}
				}
			}
			if !c.sends {
				p.settle(500 * us)
				require.Equal(t, []int{0, 0, 0, 0}, p.order(bs),
					"a window of the first flow, and nothing of the others")
			}
			c.end(t, p, as[0], algorithms[0])
			require.True(t, p.run(500*us, func() bool {
				return len(as[1].poll()) == messages && len(as[2].poll()) == messages
			}),
				"%d and %d of %d", len(as[1].comp), len(as[2].comp), messages)
			order := slices.DeleteFunc(p.order(bs), func(i int) bool { return i == 0 })
			require.True(t, slices.IsSorted(order), "%v", order)
		})
	}
}

// A flow that is no longer held claims its precedence again.
func TestPrecedenceAfterAHold(t *testing.T) {
	p := newPair(t)
	as, bs, algorithms := rankedSides(t, p, defaults(), 7, 0)
	algorithms[0].stop()
	as[0].write(t, bs[0], 1<<14)
	as[1].write(t, bs[1], 1<<16)
	p.settle(10 * us)
	require.NotContains(t, p.order(bs), 0)
	before := len(p.order(bs))
	require.Greater(t, before, 4, "the other flow goes on meanwhile")
	require.Less(t, before, 50)
	algorithms[0].decision.Window = 4 * units.KiB
	algorithms[0].steer(algorithms[0].decision)
	p.await(as[1], 1)
	assert.LessOrEqual(t, between(p.order(bs)[before:]), 4)
}

// between returns how many packets of flow 1 left before the last one of flow 0.
func between(order []int) int {
	last := len(order) - slices.Index(reversed(order), 0)
	return len(slices.DeleteFunc(slices.Clone(order[:last]), func(i int) bool { return i == 0 }))
}

func reversed(order []int) []int {
	order = slices.Clone(order)
	slices.Reverse(order)
	return order
}

// The flow ID of a flow that is destroyed while it waits may be another flow's, which must not be
// forgotten then.
func TestPrecedenceOfAReusedQPN(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.timeout = 20
	as, bs, algorithms := rankedSides(t, p, o, 7, 0)
	p.la.tamper = func(frame []byte) int {
		if pkt, ok := parsed(frame); ok && pkt.DestQP == bs[0].qp.Num {
			return 0
		}
		return 1
	}
	as[0].write(t, bs[0], 1<<16)
	as[1].write(t, bs[1], 1024)
	p.settle(100 * us)
	flow := as[1].qp.cong.flow
	as[1].qp.Destroy()
	next, peers, _ := rankedSides(t, p, o, 0)
	require.Equal(t, flow, next[0].qp.cong.flow, "otherwise there is nothing to test")
	next[0].write(t, peers[0], 1024)
	p.settle(100 * us)
	require.Empty(t, next[0].poll(), "it waits")
	algorithms[0].stop()
	p.settle(100 * us)
	assert.Len(t, next[0].poll(), 1)
}

// Flows to another peer, and flows without a priority, are not affected.
func TestPrecedenceIsOfOnePeer(t *testing.T) {
	p := newPair(t)
	var err error
	p.b, err = New(Config{Port: p.lb, Addrs: prefixes("10.0.0.2/24", "10.0.0.3/24"), Seed: 2}, 0)
	require.NoError(t, err)
	o := defaults()
	o.timeout = 20
	as, bs, _ := rankedSides(t, p, o, 7, 0)
	p.la.tamper = func(frame []byte) int {
		if pkt, ok := parsed(frame); ok && pkt.DestQP == bs[0].qp.Num {
			return 0
		}
		return 1
	}
	mine := o
	mine.algorithm = &ranked{steered: steered{decision: cc.Decision{Window: 4 * units.KiB}}}
	elsewhere, other := mine.make(t, p.a), o.make(t, p.b)
	plain, plainPeer := p.connected(o)
	attr := QPAttr{PathMTU: units.KiB, RecvPSN: 100, MaxDestRdAtomic: 1, SendPSN: 100, Timeout: 20,
		RetryCount: 7}
	attr.Path, attr.DestQPN = AddressVector{IP: netip.MustParseAddr("10.0.0.3")}, other.qp.Num
	require.NoError(t, elsewhere.qp.Connect(attr))
	attr.Path, attr.DestQPN = AddressVector{IP: netip.MustParseAddr("10.0.0.1"),
		Source: netip.MustParseAddr("10.0.0.3")}, elsewhere.qp.Num
	attr.Access = RemoteWrite
	require.NoError(t, other.qp.Connect(attr))

	as[0].write(t, bs[0], 1<<16)
	as[1].write(t, bs[1], 1024)
	elsewhere.write(t, other, 1024)
	plain.write(t, plainPeer, 1024)
	p.settle(500 * us)
	assert.Empty(t, as[1].poll(), "to the same peer")
	assert.Len(t, elsewhere.poll(), 1, "to another one")
	assert.Len(t, plain.poll(), 1, "without a priority")
	assert.Len(t, p.a.precedence.peers, 2)
	elsewhere.qp.Destroy()
	assert.Len(t, p.a.precedence.peers, 1)
	as[0].qp.Destroy()
	as[1].qp.Destroy()
	assert.Empty(t, p.a.precedence.peers)
	assert.Empty(t, p.a.precedence.flows)
}

// With time stamps delays decide who goes first, and an endpoint without such flows has no
// precedence state.
func TestNoPrecedence(t *testing.T) {
	p := newPair(t)
	p.connected(defaults())
	assert.Nil(t, p.a.precedence)

	stamped := newPair(t)
	var err error
	stamped.a, err = New(Config{Port: stampedLink{stamped.la}, Addrs: prefixes("10.0.0.1/24"),
		Seed: 1}, 0)
	require.NoError(t, err)
	as, bs, _ := rankedSides(t, stamped, defaults(), 7, 0)
	assert.Nil(t, stamped.a.precedence)
	as[0].write(t, bs[0], 1<<16)
	as[1].write(t, bs[1], 1<<16)
	stamped.await(as[1], 1)
	assert.False(t, slices.IsSorted(stamped.order(bs)), "both send")
}

// Precedence allocates nothing per packet.
func TestPrecedenceAllocatesNothing(t *testing.T) {
	o := defaults()
	o.sges = 1
	o.algorithm = &ranked{steered: steered{discards: true,
		decision: cc.Decision{Window: 16 * units.KiB}}, rank: 3}
	p, as, bs := crossedPair(t, o, 1)
	low := o
	low.algorithm = &ranked{steered: steered{discards: true,
		decision: cc.Decision{Window: 16 * units.KiB}}}
	a, b := low.make(t, p.a), defaults().make(t, p.b)
	a.connect(t, low, b)
	b.connect(t, low, a)
	s := newStream(p, as[0], bs[0], OpWrite, 2000)
	wr := WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 2000)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey}
	var wcs [packet.Burst]WorkCompletion
	round := func() {
		for range 4 {
			wr.Signaled = true
			_ = a.qp.PostSend(&wr)
		}
		s.burst(packet.Burst)
		for done := 0; done < 4; done += a.cq.Poll(wcs[:]) {
			p.poll()
		}
	}
	round()
	round()
	require.Zero(t, testing.AllocsPerRun(50, round))
}
