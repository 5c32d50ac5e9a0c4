package fabric_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

const (
	us = units.Microsecond
	ms = units.Millisecond
)

// look is a round of a watcher.
type look struct {
	idle, at units.Time
	got      int
}

// watcher is a poller that notes its rounds, and what it got.
type watcher struct {
	nic    *fabric.NIC
	every  units.Duration // between its deadlines; 0: it has none
	idle   units.Time
	rounds []look
	stamps []units.Time
	seen   []units.Time // when each frame was had
	wrong  []string
	bufs   [packet.Burst]packet.Buf
}

func (w *watcher) Ended(units.Time) {}

func (w *watcher) Idle(until units.Time) {
	if n := len(w.rounds); n > 0 && until.Before(w.rounds[n-1].at) {
		w.wrong = append(w.wrong, fmt.Sprintf("idle until %v, before the round at %v", until,
			w.rounds[n-1].at))
	}
	w.idle = until
}

func (w *watcher) Poll(now units.Time) units.Time {
	if w.idle.After(now) {
		w.wrong = append(w.wrong, fmt.Sprintf("idle until %v, after the round at %v", w.idle, now))
	}
	all := 0
	for n := len(w.bufs); n == len(w.bufs); {
		n = w.nic.Recv(w.bufs[:])
		for _, b := range w.bufs[:n] {
			w.stamps, w.seen = append(w.stamps, b.Time), append(w.seen, now)
		}
		w.nic.Free(w.bufs[:n])
		all += n
	}
	w.rounds = append(w.rounds, look{w.idle, now, all})
	if w.every > 0 {
		return now.Add(w.every)
	}
	return forever(now)
}

// at sends a frame at each of some times, so that it arrives then at the other end of a pairOf.
func at(times ...units.Duration) func() (openloop.Frame, bool) {
	const trip = 2*us + 2*100*units.Nanosecond
	return func() (f openloop.Frame, ok bool) {
		if len(times) == 0 {
			return f, false
		}
		f = openloop.Frame{At: units.Time(times[0] - trip), Len: 1226, Dst: 1}
		times = times[1:]
		return f, true
	}
}

// watch sends frames to a host that is as c says.
func watch(t *testing.T, seed uint64, c fabric.HostConfig, w *watcher,
	times ...units.Duration) *fabric.Network {
	t.Helper()
	n := fabric.Star(fabric.Parts{
		Config: fabric.Config{Seed: seed},
		HostOf: func(host int, config *fabric.HostConfig) {
			if host == 1 {
				*config = c
			}
		},
	}, 2, fabric.Link{Rate: 100 * units.Gbps, Delay: us})
	require.NoError(t, n.Build())
	openloop.Put(n, n.Host(0), at(times...), nil)
	w.nic = n.Host(1).NIC()
	n.Host(1).Run(w)
	run(t, n, times[len(times)-1]+200*ms)
	require.Empty(t, w.wrong)
	require.Len(t, w.seen, len(times), "a frame is missing")
	return n
}

// When a poller looks, and until when it looked in vain before, by what its host is like.
func TestWhenAHostLooks(t *testing.T) {
	naps := fabric.Naps{Spin: 25 * us, Short: 5 * us, Weary: 250 * us, Long: 50 * us}
	away := fabric.Preemption{Every: 100 * ms, Shortest: 10 * ms, InStep: true}
	both := func(c fabric.HostConfig, n fabric.Naps) fabric.HostConfig { c.Naps = n; return c }
	preempted := fabric.HostConfig{Preemption: away}
	for _, c := range []struct {
		name     string
		config   fabric.HostConfig
		deadline units.Duration
		arrives  units.Duration
		at, idle units.Duration // of the round that has the frame
	}{
		{"always", fabric.HostConfig{}, 0, 33 * us, 33 * us, 33 * us},
		{"spins", fabric.HostConfig{Naps: naps}, 0, 24 * us, 24 * us, 24 * us},
		{"naps", fabric.HostConfig{Naps: naps}, 0, 33 * us, 35 * us, 30 * us},
		{"looks between two naps", fabric.HostConfig{Naps: naps}, 0, 35 * us, 35 * us, 35 * us},
		{"last short nap", fabric.HostConfig{Naps: naps}, 0, 254 * us, 255 * us, 250 * us},
		{"long nap", fabric.HostConfig{Naps: naps}, 0, 256 * us, 305 * us, 255 * us},
		{"long naps", fabric.HostConfig{Naps: naps}, 0, 10_256 * us, 10_305 * us, 10_255 * us},
		{"a nap ends with a deadline", fabric.HostConfig{Naps: naps}, 33 * us, 31 * us, 33 * us,
			30 * us},
		{"before it is preempted", preempted, 0, 99 * ms, 99 * ms, 99 * ms},
		{"preempted", preempted, 0, 103 * ms, 110 * ms, 100 * ms},
		{"preempted again", preempted, 0, 10_001 * ms, 10_010 * ms, 10_000 * ms},
		{"after it was preempted", preempted, 0, 110 * ms, 110 * ms, 110 * ms},
		{"preempted in a nap", both(preempted, naps), 0, 103 * ms, 110 * ms, 99_955*us + 0},
		{"a nap ends while it is preempted", both(preempted, naps), 0, 100*ms - 40*us, 110 * ms,
			99_955 * us},
		{"naps after it was preempted", both(preempted, naps), 0, 110*ms + 20*us, 110*ms + 50*us,
			110 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &watcher{every: c.deadline}
			watch(t, 1, c.config, w, c.arrives)
			i := slices.IndexFunc(w.rounds, func(l look) bool { return l.got > 0 })
			assert.Equal(t, units.Time(c.at), w.rounds[i].at)
			assert.Equal(t, units.Time(c.idle), w.rounds[i].idle)
			assert.Equal(t, units.Time(c.arrives), w.stamps[0], "the stamp is the NIC's")
		})
	}
}

func TestNoStamps(t *testing.T) {
	w := &watcher{}
	n := watch(t, 1, fabric.HostConfig{NoStamps: true, Noise: func() units.Duration {
		return us
	}}, w, 10*us)
	assert.Equal(t, []units.Time{0}, w.stamps)
	assert.False(t, n.Host(1).NIC().Info().Timestamps)
	assert.True(t, n.Host(0).NIC().Info().Timestamps)
}

// Frames come in batches: after a time, or when there are so many.
func TestCoalesce(t *testing.T) {
	times := []units.Duration{10 * us, 12 * us, 14 * us, 20 * us, 21 * us, 40 * us}
	for _, c := range []struct {
		config fabric.Coalesce
		had    []units.Duration
	}{
		{fabric.Coalesce{}, times},
		{fabric.Coalesce{Every: 8 * us}, []units.Duration{18 * us, 18 * us, 18 * us, 28 * us,
			28 * us, 48 * us}},
		{fabric.Coalesce{Every: 8 * us, Frames: 2}, []units.Duration{12 * us, 12 * us, 21 * us,
			21 * us, 22 * us, 48 * us}},
		{fabric.Coalesce{Every: 8 * us, Frames: 3}, []units.Duration{14 * us, 14 * us, 14 * us,
			28 * us, 28 * us, 48 * us}},
		{fabric.Coalesce{Every: us, Frames: 1}, times},
	} {
		w := &watcher{}
		watch(t, 1, fabric.HostConfig{Coalesce: c.config}, w, times...)
		var had []units.Duration
		for _, at := range w.seen {
			had = append(had, at.Sub(0))
		}
		if c.config.Frames == 2 { // the third waits for the fourth, or 8 us
			c.had[2], c.had[3], c.had[4] = 20*us, 20*us, 29*us
		}
		assert.Equal(t, c.had, had, "%+v", c.config)
		for i, at := range w.stamps {
			assert.Equal(t, units.Time(times[i]), at, "the stamp of frame %d with %+v", i, c.config)
		}
	}
}

// Several hosts and a busy loop take turns. The host polls in its turns only, which are over when
// it finds nothing, and nobody has the core at the same time.
func TestSharedCore(t *testing.T) {
	seed := testSeed(t)
	const hosts = 3
	share := fabric.Share{Core: 1, Loops: 1, Slice: ms, Spin: 10 * us, Switch: 5 * us}
	n := fabric.Star(fabric.Parts{
		Config: fabric.Config{Seed: seed},
		HostOf: func(host int, c *fabric.HostConfig) {
			if host > 0 {
				c.Share = share
			}
		},
	}, 1+hosts, fabric.Link{Rate: 100 * units.Gbps, Delay: us})
	require.NoError(t, n.Build())
	rng := generator(seed)
	sent := 0
	openloop.Put(n, n.Host(0), func() (openloop.Frame, bool) {
		sent++
		return openloop.Frame{At: units.Time(sent) * units.Time(3*us), Len: 100,
			Dst: 1 + rng.IntN(hosts)}, sent <= 30_000
	}, nil)
	var ws [hosts]*watcher
	for i := range ws {
		ws[i] = &watcher{nic: n.Host(i + 1).NIC()}
		n.Host(i + 1).Run(ws[i])
	}
	run(t, n, 200*ms)
	type round struct {
		look
		host int
	}
	var all []round
	got := 0
	for i, w := range ws {
		require.Empty(t, w.wrong)
		for _, l := range w.rounds {
			all = append(all, round{l, i})
			got += l.got
		}
	}
	require.Equal(t, 30_000, got)
	slices.SortStableFunc(all, func(a, b round) int { return int(a.at.Sub(b.at)) })
	begin, loops := all[0].at, 0
	for i, r := range all[1:] {
		before := all[i]
		if r.host == before.host && r.at.Sub(before.at) < share.Spin {
			assert.LessOrEqual(t, r.at.Sub(begin), share.Slice, "a turn is too long")
			continue
		}
		if r.host != before.host {
			assert.GreaterOrEqual(t, r.at.Sub(before.at), share.Switch,
				"two hosts have the core, at %v", r.at)
		}
		begin = r.at
		if r.at.Sub(before.at) >= share.Slice {
			loops++
		}
	}
	// The loop takes a millisecond of each round of turns, of which hosts use what they find to do.
	assert.Greater(t, loops, 50)
}

// Without a loop, hosts that find nothing yield to each other at once.
func TestHostsYield(t *testing.T) {
	n := fabric.Star(fabric.Parts{Host: fabric.HostConfig{Share: fabric.Share{Core: 7,
		Switch: us}}}, 2, fabric.Link{Rate: 100 * units.Gbps, Delay: us})
	require.NoError(t, n.Build())
	src := openloop.Put(n, n.Host(0), at(50*us, 90*us, 10*ms, 1000*ms), nil)
	w := &watcher{nic: n.Host(1).NIC()}
	n.Host(1).Run(w)
	run(t, n, 2000*ms)
	require.Empty(t, w.wrong)
	require.EqualValues(t, 4, src.Sent)
	require.Len(t, w.seen, 4)
	for i, at := range w.seen {
		assert.LessOrEqual(t, at.Sub(w.stamps[i]), 2*us)
	}
	assert.Less(t, len(w.rounds), 20)
}

// anyHost draws what a host is like.
func anyHost(rng *rand.Rand) (c fabric.HostConfig, longest units.Duration) {
	draw := func(low, high units.Duration) units.Duration {
		return low + units.Duration(rng.Int64N(int64(high-low)+1))
	}
	if rng.IntN(2) == 0 {
		c.Naps = fabric.Naps{Spin: draw(0, 30*us), Short: draw(us, 10*us), Slack: draw(0, 5*us)}
		if rng.IntN(2) == 0 {
			c.Naps.Weary, c.Naps.Long = draw(us, 300*us), draw(10*us, 60*us)
		}
		longest += c.Naps.Longest()
	}
	if rng.IntN(2) == 0 {
		c.Preemption = fabric.Preemption{Every: draw(40*ms, 100*ms), Shortest: draw(us, 10*ms),
			Longest: draw(10*ms, 30*ms), Random: rng.IntN(2) == 0, InStep: rng.IntN(2) == 0}
		longest += 3 * c.Preemption.Most()
	}
	if rng.IntN(2) == 0 {
		c.Share = fabric.Share{Core: 1 + rng.IntN(3), Loops: rng.IntN(3), Slice: draw(100*us, 4*ms),
			Spin: draw(0, 20*us), Switch: draw(us, 5*us)}
		longest += 3 * c.Share.Away(1)
	}
	if rng.IntN(2) == 0 {
		c.Coalesce = fabric.Coalesce{Every: draw(us, 100*us), Frames: rng.IntN(10)}
		longest += c.Coalesce.Every
	}
	if rng.IntN(4) == 0 {
		c.CPU = fabric.CPU{PerPoll: draw(0, us), PerPacket: draw(0, us)}
	}
	c.NoStamps = rng.IntN(2) == 0
	return c, longest
}

// Whatever a host is like, no frame is lost or overtakes another, none waits longer than the host
// is away, what the poller is told of its idling is sound, and the same seed is the same run.
func TestNothingIsLostOnSlowHosts(t *testing.T) {
	seed := testSeed(t)
	for run := range uint64(100) {
		rng := generator(seed + run)
		c, longest := anyHost(rng)
		var times []units.Duration
		for at := 10 * us; len(times) < 300; {
			times = append(times, at)
			at += units.Duration(rng.ExpFloat64() * float64(oneOf(rng, us, 20*us, ms, 10*ms)))
		}
		first, second := &watcher{}, &watcher{}
		a, b := watch(t, seed+run, c, first, times...), watch(t, seed+run, c, second, times...)
		require.Equal(t, a.Digest(), b.Digest())
		require.Equal(t, first.rounds, second.rounds)
		for i, at := range first.seen {
			require.LessOrEqual(t, at.Sub(0)-times[i], longest+ms, "frame %d, run %d, host %+v", i,
				run, c)
		}
		require.True(t, slices.IsSorted(first.seen))
		before := units.Time(0)
		arrived := 0
		for _, l := range first.rounds {
			// What it says that it looked at in vain was not there: the frames that it gets came
			// later.
			for k := range l.got {
				if c.Coalesce.Every == 0 {
					require.GreaterOrEqual(t, times[arrived+k], l.idle.Sub(0)-serial,
						"run %d, host %+v, round %+v", run, c, l)
				}
			}
			arrived += l.got
			require.False(t, l.at.Before(before))
			before = l.at
		}
	}
}

// serial is by how much a frame that waits for the one before it may be late.
const serial = 40 * us

func oneOf[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// Preemption takes its share, in step where it shall be and at moments of each host's own
// otherwise.
func TestPreemptionTakesItsShare(t *testing.T) {
	seed := testSeed(t)
	for _, c := range []struct {
		p     fabric.Preemption
		share float64
	}{
		{fabric.Preemption{Every: 100 * ms, Shortest: 10 * ms}, 0.1},
		{fabric.Preemption{Every: 100 * ms, Shortest: 10 * ms, InStep: true}, 0.1},
		{fabric.Preemption{Every: 10 * ms, Shortest: 3 * ms}, 0.3},
		{fabric.Preemption{Every: 100 * ms, Shortest: ms, Longest: 30 * ms, Random: true}, 0.155},
		{fabric.Preemption{Every: 100 * ms, Shortest: ms, Longest: 30 * ms, Random: true,
			InStep: true}, 0.155},
	} {
		const hosts, step = 4, 200 * us
		span := 20 * units.Second
		n := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: seed},
			Host: fabric.HostConfig{Preemption: c.p}}, hosts, fabric.Link{Rate: units.Gbps})
		require.NoError(t, n.Build())
		var there [hosts][]bool
		for i := range there {
			there[i] = make([]bool, span/step)
			k := 0
			// it would like to poll each step
			n.Host(i).Run(polled(func(now units.Time) units.Time {
				if now.Sub(0)%step == 0 {
					there[i][k] = true
				}
				k = int(now.Sub(0)/step) + 1
				if k == len(there[i]) {
					return forever(now)
				}
				return units.Time(k) * units.Time(step)
			}))
		}
		run(t, n, span)
		alike := 0
		for i := range there {
			away := 0
			for k, was := range there[i] {
				if !was {
					away++
				}
				if was == there[0][k] {
					alike++
				}
			}
			assert.InDelta(t, c.share, float64(away)/float64(len(there[i])), 0.05, "host %d, %+v",
				i, c.p)
		}
		assert.Equal(t, c.p.InStep, alike == hosts*len(there[0]), "%+v", c.p)
	}
}

func TestImpossibleHosts(t *testing.T) {
	for want, c := range map[string]fabric.HostConfig{
		"naps":                 {Naps: fabric.Naps{Spin: -1}},
		"Weary needs":          {Naps: fabric.Naps{Short: 1, Weary: 1}},
		"preemption":           {Preemption: fabric.Preemption{Every: ms, Shortest: ms}},
		"share":                {Share: fabric.Share{Core: -1}},
		"coalesced interrupts": {Coalesce: fabric.Coalesce{Frames: 2}},
	} {
		n := fabric.Star(fabric.Parts{Host: c}, 2, fabric.Link{Rate: units.Gbps})
		assert.ErrorContains(t, n.Build(), want)
	}
	n := fabric.Star(fabric.Parts{HostOf: func(host int, c *fabric.HostConfig) {
		c.Share = fabric.Share{Core: 1, Loops: host}
	}}, 2, fabric.Link{Rate: units.Gbps})
	assert.ErrorContains(t, n.Build(), "another host of this core has")
}

// A slow host costs no allocation per frame either.
func TestNoAllocationPerFrameOnSlowHosts(t *testing.T) {
	n := pairOf(t, fabric.HostConfig{
		Naps: fabric.DefaultNaps, Preemption: fabric.Preemption{Every: ms, Shortest: us,
			Longest: 200 * us, Random: true},
		Coalesce: fabric.Coalesce{Every: 10 * us, Frames: 8}, NoStamps: true, TxDepth: 64,
	})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1226, Dst: 1}, 0), nil)
	openloop.Put(n, n.Host(1), nil, nil)
	run(t, n, 20*ms)
	until := n.Now()
	var err error
	allocs := testing.AllocsPerRun(10, func() {
		until = until.Add(2 * ms)
		err = n.Run(until)
	})
	require.NoError(t, err)
	assert.Zero(t, allocs)
}
