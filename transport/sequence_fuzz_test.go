package transport

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// FuzzPacketSequence forges packets toward both ends of a connection, near its PSNs and with its
// tags, among its own traffic. Whatever arrives, every request ends once, no buffer is lost, and no
// more is kept than allowed.
//
// Each step takes seven bytes: what is posted and to whom the packet goes, its opcode, its distance
// from the PSN that is expected or outstanding, flags, payload, the seed of its contents, and the
// time until the next step.
func FuzzPacketSequence(f *testing.F) {
	f.Add([]byte{1, 3, byte(wire.RCAck), 0, 1, 0, 7, 1, 0, byte(wire.RCSendOnly), 2, 0, 8, 1, 2})
	f.Add([]byte{1, 5, byte(wire.XACK), 1, 3, 36, 9, 3, 4, byte(wire.RCReadRequest), 255, 1, 0, 2,
		9, 2, byte(wire.RCAtomicAck), 1, 1, 0, 3, 200})
	f.Add([]byte{0, 6, byte(wire.RCReadResponseOnly), 0, 1, 64, 7, 1, 1, byte(wire.XDATA), 2, 2, 40,
		1, 2, 1, byte(wire.CNP), 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		p := newPair(t)
		o := defaults()
		o.depth, o.features = 256, wire.FeatureProbe|wire.FeatureECNEcho|wire.FeatureTiming
		if data[0]&1 != 0 {
			o.sack = 64
		}
		a, b := p.connected(o)
		p.settle(10 * units.Microsecond)
		p.b.maxHeld = 16
		rounds := 0
		settle := func(d units.Duration) {
			p.run(d, func() bool {
				rounds++
				require.Less(t, rounds, maxRounds, "at %v: %+v %+v", p.now, p.a.counters,
					p.b.counters)
				return false
			})
		}
		posted := [2]int{}
		steps := 0
		for data = data[1:]; len(data) >= 7 && steps < 64; data, steps = data[7:], steps+1 {
			to, peer, l := b, a, p.lb
			if data[0]&1 != 0 {
				to, peer, l = a, b, p.la
			}
			for i, x := range []*side{a, b} {
				if data[0]>>(1+i)&1 == 0 {
					continue
				}
				op, far := []Op{OpSend, OpWrite, OpRead, OpFetchAdd}[data[0]>>3&3], []*side{b,
					a}[i]
				if op == OpSend && far.qp.State() != Errored {
					far.recv(t, 1<<32, 0, 4096)
				}
				n := 8
				if op != OpFetchAdd {
					n = int(data[0]) * 12
				}
				x.post(t, WorkRequest{ID: uint64(posted[i]), Op: op, Signaled: true,
					SGList: []SGE{x.mr.SGE(0, n)}, RemoteAddr: far.mr.Addr, RKey: far.mr.RKey})
				posted[i]++
			}
			l.inbox = append(l.inbox, l.filled(sequenced(to, peer, data)))
			settle(units.Duration(data[6]) * units.Microsecond / 16)
			for _, x := range []*side{a, b} {
				h := x.ep.Stats().Holdings
				require.LessOrEqual(t, h.Buffers, x.ep.maxHeld)
				require.LessOrEqual(t, max(h.Gaps, h.Recoveries), 1)
				require.LessOrEqual(t, h.Neighbors, 2)
			}
		}
		settle(10 * units.Millisecond)
		for i, x := range []*side{a, b} {
			x.qp.Modify(Errored, QPAttr{})
			ended := 0
			for _, wc := range x.poll() {
				if wc.ID < 1<<32 {
					require.EqualValues(t, ended, wc.ID, "in order, each once")
					ended++
				}
			}
			require.Equal(t, posted[i], ended)
			require.Zero(t, x.qp.snd.cold().pending)
		}
		p.conserved()
		require.Zero(t, p.a.held+p.b.held)
	})
}

// maxRounds is far more rounds than 64 packets and their consequences take.
const maxRounds = 200_000

// sequenced returns the packet of a step, as if from a peer.
func sequenced(to, from *side, step []byte) []byte {
	op, at := wire.Opcode(step[1]), to.qp.Query()
	if op.Info().Name == "" {
		op = wire.RCAck
	}
	psn := at.RecvPSN
	if !op.Info().Request {
		psn = at.UnackedPSN
	}
	psn = psn.Add(uint32(int32(int8(step[2]))) & wire.PSNMask)
	var tmpl wire.Template
	src, dst := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if from.ep.neighbors.Owns(dst) {
		src, dst = dst, src
	}
	if tmpl.Set(wire.Address{SrcMAC: from.ep.mac, DstMAC: to.ep.mac, Src: src, Dst: dst,
		TOS: step[3], SrcPort: 0xc000, DestQP: to.qp.Num}) != nil {
		panic("an address of the test's")
	}
	size := 0
	if op.Info().Payload || op.Info().Kind == wire.Extension {
		size = int(step[4])
	}
	if op.Info().Kind == wire.Extension {
		size &^= 3
	}
	frame := make([]byte, linkBuffer)
	ext, total := tmpl.Build(frame, wire.Fields{Op: op, Flags: wire.AckReq.When(step[3]&1 != 0),
		PSN: psn}, size)
	rng := rand.New(rand.NewPCG(uint64(step[5]), 1))
	for i := ext; i < total-wire.ICRCLen; i++ {
		frame[i] = byte(rng.Uint32())
	}
	if op.Info().RETH && step[5]&1 != 0 {
		wire.View[wire.RETH](frame[ext:]).Set(to.mr.Addr, to.mr.RKey, uint32(size))
	}
	if op.Info().Kind == wire.Extension {
		wire.View[wire.XCH](frame[ext:]).Set(to.tag(), size)
	}
	tmpl.Seal(frame[:total])
	return frame[:total]
}
