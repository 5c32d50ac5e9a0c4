package transport

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Queue pairs that always have something to send, requests or READ responses, have equal shares of
// a port that is full, however little room it has when it is polled, and whatever their windows
// are.
func TestQueuePairsShareAFullPort(t *testing.T) {
	for _, op := range []Op{OpWrite, OpRead} {
		for _, room := range []int{1, 2, 3, 5, 33, 40} {
			for qps := 2; qps <= 5; qps++ {
				for _, window := range []units.Bytes{4 * units.KiB, 64 * units.KiB} {
					t.Run(fmt.Sprintf("%v room %d, %d queue pairs, window %v", op, room, qps,
						window), func(t *testing.T) {
						shares := sharesOfFullPort(t, op, room, qps, window)
						for _, n := range shares {
							assert.InDelta(t, shares[0], n, 2*sendQuantum+1, shares)
						}
					})
				}
			}
		}
	}
}

// sharesOfFullPort returns how many packets with payload each of the queue pairs sends through a
// port that has room for a number of frames each microsecond.
func sharesOfFullPort(t *testing.T, op Op, room, qps int, window units.Bytes) []int {
	const length = 1 << 20
	p := newPair(t)
	o := defaults()
	o.memory, o.timeout = length, 20
	o.algorithm = &cc.Fixed{Window: window}
	index, shares := map[wire.QPN]int{}, make([]int, qps)
	for i := range qps {
		a, b := p.connected(o)
		from, to := a, b
		if op == OpRead {
			from, to = b, a // the responses go from a to b
		}
		index[b.qp.Num] = i
		from.post(t, WorkRequest{Op: op, SGList: []SGE{from.mr.SGE(0, length)},
			RemoteAddr: to.mr.Addr, RKey: to.mr.RKey})
	}
	p.settle(units.Microsecond)
	p.la.record, p.la.room = true, room
	for len(p.la.sent) < 800*qps {
		p.now = p.now.Add(units.Microsecond)
		p.step()
		p.a.Poll(p.now) // finds the port full
		require.Less(t, p.now, units.Time(units.Second))
	}
	for _, frame := range p.la.sent {
		if q, ok := parsed(frame); ok && q.End > q.PayloadOff {
			shares[index[q.DestQP]]++
		}
	}
	return shares
}
