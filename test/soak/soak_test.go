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
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

var (
	seedFlag = flag.Uint64("seed", 0,
		"first seed of TestSoak, and its only one unless -seeds is given; 0: from 1")
	seedsFlag = flag.Int("seeds", 0, "number of seeds of TestSoak; 0: as many as its time allows")
)

// TestSoak runs seeds for a minute, or for ten seconds with -short or the race detector. The seeds
// are the same in every run, so that a failure is due to the change under test; `make soak` runs
// new ones.
func TestSoak(t *testing.T) {
	budget := time.Minute
	if race.Short() {
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
	if r.run(t.Context()) > 0 {
		t.Fail()
	}
	t.Log(out.String())
}

// TestHosts runs seeds of the mode hosts, of every kind and combined with tokens and credits.
func TestHosts(t *testing.T) {
	seeds := 60
	if race.Short() {
		seeds = 5
	}
	for _, name := range []string{"hosts", "hosts,tocc", "hosts,carc"} {
		m, err := modeNamed(name)
		require.NoError(t, err)
		var out bytes.Buffer
		r := runner{first: max(1, *seedFlag), seeds: seeds, workers: 2, mode: m, out: &out}
		assert.Zero(t, r.run(t.Context()), "%s, -seed=%d: %s", name, r.first, &out)
		seeds /= 3
	}
}

// TestViolationsDetected checks that the soak detects violations: each case breaks one thing in a
// fault-free simulation.
func TestViolationsDetected(t *testing.T) {
	const at = units.Time(60 * units.Microsecond)
	for _, c := range []struct {
		name string
		do   func(sim *simulation, end *peerEnd)
		want string
	}{
		{"nothing", func(*simulation, *peerEnd) {}, ""},
		{"a byte beside the messages changes", func(_ *simulation, end *peerEnd) {
			end.local.mem[guard-1] ^= 1
		}, "was written at -1"},
		{"a byte of a region without write access changes", func(_ *simulation, end *peerEnd) {
			end.peer.private.mem[guard] = 7
		}, "private"},
		{"a completion is lost", func(_ *simulation, end *peerEnd) {
			end.haltKind = haltToError
			end.halt()
			end.node.queue.Poll(end.node.wcs[:1])
		}, "ended without a completion"},
		{"a buffer is lost", func(_ *simulation, end *peerEnd) {
			var one [1]packet.Buf
			end.node.host.NIC().Alloc(one[:])
		}, "1 buffers of the NIC were not freed"},
		{"a queue pair fails", func(_ *simulation, end *peerEnd) {
			_ = end.qp.Modify(transport.Errored, transport.QPAttr{})
		}, "flushed before any failure"},
		{"a queue pair is destroyed", func(_ *simulation, end *peerEnd) {
			end.peer.qp.Destroy()
		}, "retries exceeded without a cause"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expectProblem(t, faultFreePlan(transport.OpWrite), at, c.do, c.want)
		})
	}
}

// TestCreditViolationsDetected does the same for credits.
func TestCreditViolationsDetected(t *testing.T) {
	const at = units.Time(60 * units.Microsecond)
	for _, c := range []struct {
		name string
		do   func(end *peerEnd)
		want string
	}{
		{"nothing", func(*peerEnd) {}, ""},
		{"lines are returned that were not consumed", func(end *peerEnd) {
			_ = end.creditGate.Receive(&cc.ControlMessage{Kind: cc.CREDIT, Credits: 100,
				Returned: 1 << 30},
				cc.Backlog{}, at)
		}, "lines returned, want at most"},
		{"a message is consumed twice", func(end *peerEnd) {
			end.peer.creditGranter.Consumed(20_000, at)
		}, "lines consumed, want at most"},
		{"a message is never consumed", func(end *peerEnd) {
			end.peer.creditGranter.delivered++
		}, "lines taken"},
		{"more credits are taken than were granted", func(end *peerEnd) {
			for range 100 {
				end.creditGate.Sent(&cc.Outgoing{Bytes: 1024, Message: 20_000, Completes: true}, at)
			}
		}, "lines outstanding, of "},
		{"a host grants more than its cache", func(end *peerEnd) {
			end.peer.creditGranter.advertised = units.GiB
			end.peer.node.checkCacheShare()
		}, "bytes of cache, want at most"},
		{"a granter outlives its session", func(end *peerEnd) {
			end.peer.node.cacheSharers[&checkedCreditGranter{end: end.peer}] = true
		}, "sessions share it after all sessions closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := faultFreePlan(transport.OpSend)
			p.mode.credits = true
			p.drawCredits()
			for i := range p.traits {
				spec, err := carc.Parse("llc=256KiB,delta=off")
				require.NoError(t, err)
				p.traits[i].cache, p.traits[i].llc, p.traits[i].consumeDelay = &spec, 256*units.KiB,
					units.Microsecond
			}
			expectProblem(t, p, at, func(_ *simulation, end *peerEnd) { c.do(end) }, c.want)
		})
	}
}

// expectProblem runs a plan, calls do during its traffic, and checks the first recorded problem; an
// empty text expects none.
func expectProblem(t *testing.T, p *plan, at units.Time, do func(*simulation, *peerEnd),
	want string) {
	t.Helper()
	sim := newSimulation(p)
	sim.net.At(at, func() {
		end := p.sessions[0].ends[0]
		require.Less(t, end.done, end.next, "want traffic in flight")
		do(sim, end)
		end.wake()
	})
	sim.run()
	if want == "" {
		require.Empty(t, sim.problems)
		return
	}
	require.NotEmpty(t, sim.problems)
	assert.Contains(t, sim.problems[0], want)
}

// faultFreePlan returns a plan of one reliable session with many messages and no faults.
func faultFreePlan(op transport.Op) *plan {
	r := newRNG(1, 1)
	p := &plan{kind: kinds[0], parts: fabric.Parts{Config: fabric.Config{MTU: 4200}},
		traits: make([]hostTraits, 2)}
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	p.topology.addLink(link)
	p.topology.star(link, 2)
	s := p.newSession(r, [2]int{0, 1}, 0)
	s.service, s.mtu = transport.RC, units.KiB
	for range 100 {
		m := s.ends[0].drawMessage(r, 0, 0)
		m.op, m.size = op, 20000
	}
	s.finishScripts(r)
	p.drawTimers(r)
	for _, end := range s.ends {
		end.timeout, end.rtoLow, end.rtoHigh, end.retries, end.signalAll = 8, 0, 0, 7, true
		end.retryTime = 8 * wire.AckTimeout(8)
	}
	p.deriveBounds()
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
				require.NotEqual(t, s.ends[0].host, s.ends[1].host)
				if m.recovery != recoverAny {
					require.Equal(t, m.recovery == recoverSelective, s.selective)
				}
			}
		}
	}
	_, err := modeNamed("lossy,none")
	require.ErrorContains(t, err, `unknown mode "none", want one of all, clean,`)
}

func TestPayload(t *testing.T) {
	p := newPayload(1, 2, 3)
	whole := make([]byte, 200)
	p.fill(whole, 0)
	for from := range 40 {
		for n := range 40 {
			b := make([]byte, n)
			p.fill(b, from)
			require.Equal(t, whole[from:from+n], b, "from %d", from)
			require.Equal(t, -1, p.mismatch(b, from))
			for i := range b {
				b[i] ^= 1
				require.Equal(t, i, p.mismatch(b, from))
				b[i] ^= 1
			}
		}
	}
	require.NotEqual(t, p, newPayload(1, 2, 4))
	require.NotEqual(t, p, newPayload(1, 3, 3))
}

func TestPieces(t *testing.T) {
	a := newArena("test", 100)
	p := newPayload(1, 2, 3)
	ps := pieces{a.alloc(10, 3), a.alloc(0, 3), a.alloc(20, 3)}
	_, yes := a.firstWritten()
	require.False(t, yes)
	require.NoError(t, ps.verify(p, 0), "untouched")
	require.NoError(t, ps.verifyPart(p))
	ps.fill(p)
	require.NoError(t, ps.verify(p, 30))
	require.NoError(t, ps.verifyPart(p))
	require.ErrorContains(t, ps.verify(p, 25), "byte 25 behind the 25 of the message was written")
	require.ErrorContains(t, ps.verify(newPayload(1, 2, 4), 30), "byte 0 of 30")
	fillIdle(ps[0].bytes())
	require.NoError(t, ps.verifyPart(p), "only the second part has arrived")
	require.ErrorContains(t, ps.verify(p, 30), "byte 0 of 30")
	at, _ := a.firstWritten()
	require.Equal(t, 3+10+3+0+3, at)
	ps.restore()
	_, yes = a.firstWritten()
	require.False(t, yes)
}
