package transport

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// FuzzVerbs runs a program of verbs on two endpoints that are joined by a link in virtual time. The
// input is the program: each operation takes a byte that selects it and its endpoint, and further
// bytes for its arguments; missing bytes are 0.
//
// The oracle (verbsfuzz_oracle_test.go) models queue pair states, queues and memory. Whatever the
// program does, everything accepted ends once and in order, no byte changes that must not, and
// nothing is left at the end.
func FuzzVerbs(f *testing.F) {
	f.Add([]byte{verbsStandard})
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Fuzz(func(t *testing.T, program []byte) { runVerbs(t, program) })
}

// TestVerbsPrograms runs random programs of verbs, the same ones each time. A failure prints the
// seed of its program, which -seed runs alone.
func TestVerbsPrograms(t *testing.T) {
	if *seedFlag != 0 {
		verbsSeed(t, *seedFlag)
		return
	}
	programs := uint64(1000)
	if race.Short() {
		programs = 300
	}
	for seed := range programs {
		if !t.Run("", func(t *testing.T) { verbsSeed(t, seed+1) }) {
			t.Fatalf("replay it with -run 'TestVerbsPrograms$' -seed=%d", seed+1)
		}
	}
}

// verbsSeed runs the program of a seed.
func verbsSeed(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 17))
	program := make([]byte, 1+rng.IntN(1500))
	for i := range program {
		program[i] = byte(rng.Uint32())
	}
	if seed%4 != 0 {
		program[0] |= verbsStandard
	}
	runVerbs(t, program)
}

// Bits of the first byte of a program.
const (
	verbsStandard = 1 << iota // start with one object of every kind, connected
	verbsOneClass             // the port has a single transmit queue
	verbsIPv6
	verbsSmall // completion queues that may overrun
)

// Bounds of one program.
const (
	verbsMaxOps   = 400
	verbsMaxSteps = 10_000 // rounds of both endpoints
	verbsMaxIdle  = 3_000  // rounds in which time does not advance
	verbsSlots    = 6      // objects of each kind on an endpoint
)

// verbsWorld is a running program.
type verbsWorld struct {
	*pair
	data   []byte // the rest of the program
	hosts  [2]*verbsHost
	posts  map[uint64]*verbsPost
	nextID uint64
	steps  int
	ops    int
	// losses has a bit for each of the next frames, the lowest first: a set bit drops the frame.
	losses uint64
	losing uint8
	// cancelling is the queue pair whose requests CancelWaiting is cancelling.
	cancelling *verbsQP
	connected  int
}

// verbsHost is an endpoint and what the program created on it. Destroyed objects stay until new
// ones take their place, so that programs also use what is gone.
type verbsHost struct {
	*verbsWorld
	name    string
	ep      *Endpoint
	link    *link
	peer    *verbsHost
	ip      netip.Addr
	pds     []*verbsPD
	regions []*verbsRegion
	cqs     []*verbsCQ
	srqs    []*verbsSRQ
	qps     []*verbsQP
	ahs     []*verbsAH
	numbers map[wire.QPN]*verbsQP
	polls   int // rounds so far
}

type verbsPD struct {
	*ProtectionDomain
	destroyed bool
}

type verbsCQ struct {
	*CompletionQueue
	depth     int
	destroyed bool
	checked   uint32 // completions that the oracle has seen, counted like tail
	seen      []WorkCompletion
}

type verbsSRQ struct {
	*SharedReceiveQueue
	pd        *verbsPD
	sges      int
	destroyed bool
	lossy     bool // a completion of one of its receives was lost
	posted    []*verbsPost
	armed     int
}

type verbsAH struct {
	*AddressHandle
	pd        *verbsPD
	destroyed bool
}

// withoutHelper is a test without Helper, which would take most of the time.
type withoutHelper struct{ testing.TB }

func (withoutHelper) Helper() {}

func newVerbsWorld(t testing.TB, program []byte) *verbsWorld {
	w := &verbsWorld{pair: newPair(t), data: program, posts: map[uint64]*verbsPost{}}
	kind := w.byte()
	v4, v6 := [2]string{"10.0.0.1", "10.0.0.2"}, [2]string{"fd00::1", "fd00::2"}
	ends := [2]*link{w.la, w.lb}
	for i := range w.hosts {
		if kind&verbsOneClass == 0 {
			ends[i].classes = 6
		}
		ep, err := New(Config{Port: ends[i], Addrs: prefixes(v4[i]+"/24", v6[i]+"/64"),
			Seed: uint64(i + 1), MaxHeld: 16}, 0)
		require.NoError(t, err)
		h := &verbsHost{verbsWorld: w, name: "ab"[i : i+1], ep: ep, link: ends[i],
			numbers: map[wire.QPN]*verbsQP{}}
		h.ip = netip.MustParseAddr(v4[i])
		if kind&verbsIPv6 != 0 {
			h.ip = netip.MustParseAddr(v6[i])
		}
		ends[i].tamper = func([]byte) int { return w.copies(i) }
		w.hosts[i] = h
	}
	w.a, w.b = w.hosts[0].ep, w.hosts[1].ep
	w.hosts[0].peer, w.hosts[1].peer = w.hosts[1], w.hosts[0]
	if kind&verbsStandard != 0 {
		depth := 1024
		if kind&verbsSmall != 0 && w.chance(2) {
			depth = 1 + w.pick(16)
		}
		w.standard(depth)
	}
	return w
}

// byte returns the next byte of the program, or 0 after its end.
func (w *verbsWorld) byte() int {
	if len(w.data) == 0 {
		return 0
	}
	b := w.data[0]
	w.data = w.data[1:]
	return int(b)
}

// pick draws from [0, n).
func (w *verbsWorld) pick(n int) int { return w.byte() % n }

// oneOf draws one of a few values.
func oneOf[T any](w *verbsWorld, values ...T) T { return values[w.pick(len(values))] }

// chance returns true once in n draws, and not after the end of the program.
func (w *verbsWorld) chance(n int) bool { return w.byte()%n == n-1 }

// copies returns how often a frame of host i arrives.
func (w *verbsWorld) copies(i int) int {
	if w.losing>>i&1 == 0 || w.losses == 0 {
		return 1
	}
	lost := w.losses&1 != 0
	w.losses >>= 1
	switch {
	case lost && w.losing&4 != 0:
		return 2
	case lost:
		return 0
	}
	return 1
}

// runVerbs runs a program and checks what it leaves.
func runVerbs(t testing.TB, program []byte) {
	w := newVerbsWorld(withoutHelper{t}, program)
	for len(w.data) > 0 && w.ops < verbsMaxOps {
		w.ops++
		b := w.byte()
		h := w.hosts[b>>7]
		verbsOps[b&0x7f%len(verbsOps)](h)
		w.checkChanges()
	}
	w.finish()
}

// advance advances time by at most d.
func (w *verbsWorld) advance(d units.Duration) {
	end, idle := w.now.Add(d), 0
	for w.steps < verbsMaxSteps {
		w.steps++
		next := w.step()
		for _, h := range w.hosts {
			h.polls++
		}
		w.checkChanges()
		if next.After(end) {
			w.now = end
			return
		}
		if idle++; next.After(w.now) {
			w.now, idle = next, 0
		}
		if idle == verbsMaxIdle {
			w.t.Fatalf("time stands still at %v: %+v %+v", w.now, w.a.counters, w.b.counters)
		}
		if d == 0 {
			return
		}
	}
}
