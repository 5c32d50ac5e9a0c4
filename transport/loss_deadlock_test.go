package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// withoutTimer has selective repeat and no timeout: whatever is not retransmitted for another
// reason waits for ever.
func withoutTimer() sideOptions {
	o := selective()
	o.timeout, o.retries = 0, 0
	return o
}

// TestOldestLostPacketNeedsNoWindow loses a WRITE before two READs. The window becomes smaller than
// what the READs have in flight, which the responder does not send before it has the WRITE.
func TestOldestLostPacketNeedsNoWindow(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(withoutTimer())
	p.settle(units.Millisecond)
	p.la.tamper = losing(100)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 10)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	for i := range 2 {
		a.post(t, WorkRequest{Op: OpRead, Signaled: true, SGList: []SGE{a.mr.SGE(1000+500*i, 500)},
			RemoteAddr: b.mr.Addr + 1<<15, RKey: b.mr.RKey})
	}
	p.a.Poll(p.now) // they leave
	a.qp.cong.window = 600
	for _, wc := range p.await(a, 3) {
		require.Equal(t, StatusSuccess, wc.Status)
	}
	assert.EqualValues(t, 1, a.qp.Stats().Retransmitted)
}

// TestNakBehindRetransmissions: a NAK that shows progress names what the responder misses, though
// it was retransmitted before: the responder dropped it.
func TestNakBehindRetransmissions(t *testing.T) {
	p := newPair(t)
	_, b := p.connected(withoutTimer())
	p.settle(units.Millisecond)
	p.lb.record, p.lb.tamper = true, func([]byte) int { return 0 }
	for range 4 {
		b.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{b.mr.SGE(0, 10)}})
	}
	p.settle(units.Millisecond)
	f := newForger(p, b)
	nak := func(psn wire.PSN) (again []wire.PSN) {
		sent := len(p.lb.sent)
		f.send(wire.Fields{Op: wire.RCAck, PSN: psn}, 0, func(ext []byte) {
			wire.View[wire.AETH](ext).Set(wire.NakSyndrome(wire.NakPSNSequence), 0)
		}, nil)
		p.settle(units.Millisecond)
		for _, frame := range p.lb.sent[sent:] {
			x, _ := parsed(frame)
			again = append(again, x.PSN)
		}
		return again
	}
	assert.Equal(t, []wire.PSN{100, 101, 102, 103}, nak(100))
	assert.Equal(t, []wire.PSN{102, 103}, nak(102))
	assert.Empty(t, nak(102), "a duplicate")
}
