package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// TestRunsAreLikeSinglePackets sends the same requests in bursts, of which runs are sent together,
// and one by one. Frames and what arrives are the same, byte for byte.
func TestRunsAreLikeSinglePackets(t *testing.T) {
	for _, c := range []struct {
		name    string
		options func() sideOptions
		largest int // message; with a small window, larger ones would ask for other ACKs
	}{
		{"go-back-N", defaults, 1500},
		{"selective repeat", selective, 1500},
		{"a small window", func() sideOptions {
			o := defaults()
			o.maxInFlight = 3000
			return o
		}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				together := sendDrawn(t, c.options(), c.largest, seed, 24)
				single := sendDrawn(t, c.options(), c.largest, seed, 1)
				require.Equal(t, single.frames, together.frames, "seed %d", seed)
				require.Equal(t, single.mem, together.mem, "seed %d", seed)
				assert.Equal(t, single.ids, together.ids, "seed %d", seed)
			}
		})
	}
}

// sentAndArrived is what left, what arrived, and which receives completed.
type sentAndArrived struct {
	frames [][]byte
	mem    []byte
	ids    []uint64
}

// sendDrawn sends requests drawn from a seed, so many at a time: runs of requests that are alike,
// and others between them.
func sendDrawn(t *testing.T, o sideOptions, largest int, seed uint64,
	atOnce int) (got sentAndArrived) {
	p := newPair(t)
	a, b := p.connected(o)
	p.settle(units.Millisecond)
	p.la.record = true
	fill(a.mem, byte(seed))
	rng := rand.New(rand.NewPCG(seed, 1))
	wr, left := WorkRequest{}, 0
	for posted := 0; posted < 96; {
		for range atOnce {
			if left == 0 {
				left = 1 + rng.IntN(8)
				wr = WorkRequest{Op: []Op{OpSend, OpWrite, OpSendImm, OpRead}[rng.IntN(4)],
					Signaled: true, Solicited: rng.IntN(2) == 0, Fence: rng.IntN(8) == 0,
					RKey: b.mr.RKey}
				size := min(largest, []int{1, 7, 32, 1024, 1500}[rng.IntN(5)])
				wr.SGList = []SGE{a.mr.SGE(0, size)}
				if wr.Op != OpRead && rng.IntN(4) == 0 {
					wr.SGList = append(wr.SGList, a.mr.SGE(5000, 9))
				}
			}
			left--
			wr.ID = uint64(posted)
			wr.SGList[0].Addr = a.mr.Addr + uint64(rng.IntN(4096))
			if wr.Op == OpRead { // not over what other requests send
				wr.SGList[0].Addr += 1 << 15
			}
			wr.RemoteAddr = b.mr.Addr + 1<<15 + uint64(rng.IntN(4096))
			if wr.Op == OpSend || wr.Op == OpSendImm {
				require.NoError(t, b.qp.PostRecv(&RecvRequest{ID: wr.ID,
					SGList: []SGE{b.mr.SGE(rng.IntN(8192), 1600)}}))
			}
			require.NoError(t, a.qp.PostSend(&wr))
			posted++
		}
		p.await(a, atOnce)
	}
	for _, wc := range b.comp {
		got.ids = append(got.ids, wc.ID)
	}
	got.frames, got.mem = p.la.sent, b.mem
	return got
}
