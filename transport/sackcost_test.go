package transport

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// outstanding is a queue pair with 512 packets, or responses, in flight that are not answered.
func outstanding(t testing.TB, op Op) (p *pair, a, b *side) {
	p = newPair(t)
	o := defaults()
	o.sack, o.reads, o.depth, o.memory, o.timeout = 512, 128, 1024, 1<<21, 31
	a, b = p.connected(o)
	p.settle(10 * units.Microsecond)
	p.la.tamper = func([]byte) int { return 0 }
	for i := range 128 {
		a.post(t, WorkRequest{Op: op, SGList: []SGE{a.mr.SGE(4096*i, 4096)}, RemoteAddr: b.mr.Addr,
			RKey: b.mr.RKey})
	}
	p.settle(20 * units.Microsecond)
	require.EqualValues(t, 512, a.qp.loss.sndMax.Sub(a.qp.loss.una))
	return p, a, b
}

// acknowledging returns an ACK from b to a of everything before una, with a SACK if has is not nil.
func acknowledging(a, b *side, has []uint32) []byte {
	frame, op, tlvs := make([]byte, linkBuffer), wire.RCAck, 0
	if len(has) > 0 {
		op, tlvs = wire.XACK, extension.SACKLen(32*len(has))
	}
	ext, total := b.qp.tmpl.Build(frame, wire.Fields{Op: op, PSN: a.qp.loss.una.Add(wire.PSNMask)},
		tlvs)
	if len(has) > 0 {
		wire.View[wire.XCH](frame[ext:]).Set(a.tag(), tlvs)
		ext += wire.XCHLen
		sack := extension.SACK(frame[ext+wire.AETHLen:][:tlvs])
		sack.Init(32 * len(has))
		for i, bits := range has {
			sack.SetBits(i, bits)
		}
	}
	wire.View[wire.AETH](frame[ext:]).Set(wire.SyndromeAck, 0)
	b.qp.tmpl.Seal(frame[:total])
	return frame[:total]
}

// receiveCopies makes a receive n copies of a frame, in bursts.
func (p *pair) receiveCopies(frame []byte, n int) {
	for n > 0 {
		for range min(n, packet.Burst) {
			var one [1]packet.Buf
			p.la.Alloc(one[:])
			one[0].SetLen(copy(one[0].Room(), frame))
			one[0].Time = p.now
			p.la.inbox = append(p.la.inbox, one[0])
			n--
		}
		p.a.Poll(p.now)
		p.now = p.now.Add(units.Microsecond)
	}
}

// lastOf512 has the last but few of 511 packets behind a gap, and no others.
var lastOf512 = []uint32{15: 1 << 29}

// halfOf512 has every other one of them.
var halfOf512 = []uint32{0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa,
	0xaaaaaaaa, 0xaaaaaaaa,
	0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0x2aaaaaaa}

// A SACK that was received before has no news of any packet, whatever the packets are and whatever
// it reports.
func TestRepeatedSACK(t *testing.T) {
	for _, op := range []Op{OpWrite, OpRead} {
		for _, patience := range []units.Duration{0, units.Second} {
			for name, has := range map[string][]uint32{"the last": lastOf512,
				"every other": halfOf512} {
				t.Run(fmt.Sprintf("%v, %v, patience %v", op, name, patience), func(t *testing.T) {
					p, a, b := outstanding(t, op)
					a.qp.loss.cold().reordering = uint32(patience / units.Nanosecond)
					frame := acknowledging(a, b, has)
					news := func() (n int) {
						rec := a.qp.loss.beginRecovery()
						for i := 0; i < len(has); i += 2 {
							here := uint64(has[i]) | uint64(has[i+1])<<32
							for w := rec.news(a.qp.loss.una.Add(uint32(1+32*i)), here, 510-32*i,
								patience > 0); w != 0; w &= w - 1 {
								n++
							}
						}
						return n
					}
					require.NotZero(t, news(), "not received yet")
					p.receiveCopies(frame, 1)
					require.EqualValues(t, 1, p.a.counters.SelectiveAcks)
					require.Zero(t, news())
					p.settle(100 * units.Microsecond) // lost packets are retransmitted
					again := a.qp.loss.cold().retransmitted
					p.receiveCopies(frame, 100)
					require.Equal(t, again, a.qp.loss.cold().retransmitted,
						"it causes no retransmission")
				})
			}
		}
	}
}

// BenchmarkSACK measures the cost of receiving the same SACK again, and of the same ACK.
func BenchmarkSACK(b *testing.B) {
	for _, c := range []struct {
		name string
		op   Op
		has  []uint32
	}{{"ACK", OpWrite, nil}, {"WRITE/last", OpWrite, lastOf512}, {"WRITE/half", OpWrite, halfOf512},
		{"READ/last", OpRead, lastOf512}, {"READ/half", OpRead, halfOf512}} {
		b.Run(c.name, func(b *testing.B) {
			p, from, to := outstanding(b, c.op)
			frame := acknowledging(from, to, c.has)
			p.receiveCopies(frame, 100)
			b.ResetTimer()
			p.receiveCopies(frame, b.N)
		})
	}
}
