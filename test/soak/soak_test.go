package main

import (
	"bytes"
	"flag"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

var (
	seedFlag = flag.Uint64("seed", 0,
		"the first seed of TestSoak, and the only one unless -seeds says more; 0: all from 1")
	seedsFlag = flag.Int("seeds", 0, "how many seeds TestSoak runs; 0: as many as its time allows")
)

// TestSoak runs seeds for a minute, or for ten seconds when time is short, or the race detector
// slows it down. They are the same ones each time, so that a failure is the change's own doing: new
// ones are what `make soak` is for.
func TestSoak(t *testing.T) {
	budget := time.Minute
	if testing.Short() || raced {
		budget = 10 * time.Second
	}
	var out bytes.Buffer
	r := runner{first: *seedFlag, seeds: *seedsFlag, workers: 2, out: &out}
	if r.first != 0 {
		r.seeds = max(r.seeds, 1)
		r.verbose = r.seeds == 1
	} else {
		r.first = 1
	}
	if r.seeds == 0 {
		r.seeds, r.until = math.MaxInt, time.Now().Add(budget)
	}
	t.Logf("-seed=%d", r.first)
	if r.run() > 0 {
		t.Fail()
	}
	t.Log(out.String())
}

// TestHosts runs seeds of the mode hosts, of every kind and beside tokens and credits.
func TestHosts(t *testing.T) {
	seeds := 60
	if testing.Short() || raced {
		seeds = 5
	}
	for _, name := range []string{"hosts", "hosts,tocc", "hosts,carc"} {
		m, err := modeNamed(name)
		require.NoError(t, err)
		var out bytes.Buffer
		r := runner{first: max(1, *seedFlag), seeds: seeds, workers: 2, mode: m, out: &out}
		assert.Zero(t, r.run(), "%s, -seed=%d: %s", name, r.first, &out)
		seeds /= 3
	}
}

// What a world is made of must be found missing: each of these does one thing wrong, in a world
// that is in order without it.
func TestEveryWrongIsNoticed(t *testing.T) {
	const at = units.Time(60 * units.Microsecond)
	for _, c := range []struct {
		name string
		do   func(w *world, x *side)
		says string
	}{
		{"nothing", func(*world, *side) {}, ""},
		{"a byte beside the messages changes", func(_ *world, x *side) {
			x.local.mem[apron-1] ^= 1
		}, "was written at -1"},
		{"a byte of a region changes that nobody may write", func(_ *world, x *side) {
			x.peer.vault.mem[apron] = 7
		}, "vault"},
		{"a completion is lost", func(_ *world, x *side) {
			x.halts = haltQueuePair
			x.halt()
			x.node.queue.Poll(x.node.wcs[:1])
		}, "ended without a completion"},
		{"a buffer is lost", func(_ *world, x *side) {
			var one [1]packet.Buf
			x.node.host.NIC().Alloc(one[:])
		}, "1 buffers of the NIC are missing"},
		{"a queue pair fails", func(_ *world, x *side) {
			x.qp.ToError()
		}, "flushed, though nothing had failed"},
		{"a queue pair is never heard of again", func(_ *world, x *side) {
			x.peer.qp.Destroy()
		}, "retries exceeded, and nothing justifies it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noticed(t, wellBehaved(transport.OpWrite), at, c.do, c.says)
		})
	}
}

// What is wrong with credits must be found, too.
func TestEveryWrongCreditIsNoticed(t *testing.T) {
	const at = units.Time(60 * units.Microsecond)
	for _, c := range []struct {
		name string
		do   func(x *side)
		says string
	}{
		{"nothing", func(*side) {}, ""},
		{"lines are returned that nobody consumed", func(x *side) {
			_ = x.credits.Hear(&cc.Notice{Kind: cc.NoticeCredit, Credits: 100, Returned: 1 << 30},
				cc.Backlog{}, at)
		}, "lines are returned, and "},
		{"a message is consumed twice", func(x *side) {
			x.peer.returns.Consumed(20_000, at)
		}, "lines are consumed, of "},
		{"a message is never consumed", func(x *side) {
			x.peer.returns.delivered++
		}, "lines were taken"},
		{"credits are taken that nobody gave", func(x *side) {
			for range 100 {
				x.credits.Took(&cc.Outgoing{Bytes: 1024, Message: 20_000, Completes: true}, at)
			}
		}, "lines are out, of "},
		{"a host gives more than its cache", func(x *side) {
			x.peer.returns.told = units.GiB
			x.peer.node.lookCredits()
		}, "bytes of cache, of"},
		{"a granter stays when its session is over", func(x *side) {
			x.peer.node.sharers[&watchedReturns{side: x.peer}] = true
		}, "have a part in it, and all are over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := wellBehaved(transport.OpSend)
			p.mode.credits = true
			p.drawCredits()
			for i := range p.traits {
				spec, err := carc.Parse("llc=256KiB,delta=off")
				require.NoError(t, err)
				p.traits[i].cache, p.traits[i].llc, p.traits[i].slow = &spec, 256*units.KiB,
					units.Microsecond
			}
			noticed(t, p, at, func(_ *world, x *side) { c.do(x) }, c.says)
		})
	}
}

// noticed does something in the midst of the traffic of a plan, and looks what the world says of
// it; "" is nothing.
func noticed(t *testing.T, p *plan, at units.Time, do func(*world, *side), says string) {
	t.Helper()
	w := newWorld(p)
	w.net.At(at, func() {
		x := p.sessions[0].sides[0]
		require.Less(t, x.done, x.next, "there is traffic")
		do(w, x)
		x.wake()
	})
	w.live()
	if says == "" {
		require.Empty(t, w.problems)
		return
	}
	require.NotEmpty(t, w.problems)
	assert.Contains(t, w.problems[0], says)
}

// wellBehaved is a plan of one reliable session with much to do, in which everything goes well.
func wellBehaved(op transport.SendOp) *plan {
	d := newDice(1, 1)
	p := &plan{kind: kinds[0], parts: fabric.Parts{Config: fabric.Config{MTU: 4200}},
		traits: make([]hostTraits, 2)}
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	p.topology.note(link)
	p.topology.star(link, 2)
	s := p.newSession(d, [2]int{0, 1}, 0)
	s.service, s.mtu = transport.RC, transport.MTU1024
	for range 100 {
		m := s.sides[0].drawMessage(d, 0, 0)
		m.op, m.size = op, 20000
	}
	s.finishScripts(d)
	p.drawTimers(d)
	for _, x := range s.sides {
		x.timeout, x.rtoLow, x.rtoHigh, x.retries, x.signalAll = 8, 0, 0, 7, true
		x.patience = 8 * wire.AckTimeout(8)
	}
	p.judge()
	return p
}

func TestPlansOfEveryMode(t *testing.T) {
	for _, name := range append(modeNames(), "lossy,selective") {
		m, err := modeNamed(name)
		require.NoError(t, err)
		for seed := range uint64(100) {
			p, err := newPlan(seed, m)
			require.NoError(t, err, "%s, seed %d", name, seed)
			require.NotEmpty(t, p.sessions, "%s, seed %d", name, seed)
			require.InDelta(t, 33, p.topology.hosts, 31, "%s, seed %d: %s", name, seed,
				p.topology.name)
			for _, s := range p.sessions {
				require.NotEqual(t, s.sides[0].host, s.sides[1].host)
				if m.recovery != recoverAny {
					require.Equal(t, m.recovery == recoverSelective, s.repeats)
				}
			}
		}
	}
	_, err := modeNamed("lossy,none")
	require.ErrorContains(t, err, `mode "none" is none of all, clean,`)
}

func TestPayload(t *testing.T) {
	p := payloadOf(1, 2, 3)
	whole := make([]byte, 200)
	p.fill(whole, 0)
	for from := range 40 {
		for n := range 40 {
			b := make([]byte, n)
			p.fill(b, from)
			require.Equal(t, whole[from:from+n], b, "from %d", from)
			require.Equal(t, -1, p.differs(b, from))
			for i := range b {
				b[i] ^= 1
				require.Equal(t, i, p.differs(b, from))
				b[i] ^= 1
			}
		}
	}
	require.NotEqual(t, p, payloadOf(1, 2, 4))
	require.NotEqual(t, p, payloadOf(1, 3, 3))
}

func TestPieces(t *testing.T) {
	a := newArena("test", 100)
	p := payloadOf(1, 2, 3)
	ps := pieces{a.take(10, 3), a.take(0, 3), a.take(20, 3)}
	_, yes := a.disturbed()
	require.False(t, yes)
	require.NoError(t, ps.verify(p, 0), "untouched")
	require.NoError(t, ps.verifyPart(p))
	ps.fill(p)
	require.NoError(t, ps.verify(p, 30))
	require.NoError(t, ps.verifyPart(p))
	require.ErrorContains(t, ps.verify(p, 25), "byte 25 behind the 25 of the message was written")
	require.ErrorContains(t, ps.verify(payloadOf(1, 2, 4), 30), "byte 0 of 30")
	restore(ps[0].bytes())
	require.NoError(t, ps.verifyPart(p), "the second part has come, the first has not")
	require.ErrorContains(t, ps.verify(p, 30), "byte 0 of 30")
	at, _ := a.disturbed()
	require.Equal(t, 3+10+3+0+3, at)
	ps.restore()
	_, yes = a.disturbed()
	require.False(t, yes)
}
