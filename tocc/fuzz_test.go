package tocc

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// FuzzControlMessages combines a hostile peer of either half with a correct transport. Whatever
// arrives, no counter leaves its range, nothing is sent without permission, and neither half sends
// for ever.
func FuzzControlMessages(f *testing.F) {
	f.Add(uint8(0), []byte("posted, took, lost, heard, emitted, waited, and all of that again"))
	f.Add(uint8(1), []byte{0, 255, 1, 0, 2, 200, 3, 255, 255, 255, 255, 3, 0, 0, 0, 9, 4, 1, 5,
		250})
	f.Add(uint8(2), []byte{3, 1, 0, 0, 0, 0, 7, 7, 7, 7, 6, 1, 6, 2, 6, 3, 4, 0})
	f.Fuzz(func(t *testing.T, scheme uint8, data []byte) {
		texts := []string{"cc=none", "unsch=0,cc=swift", "cc=dcqcn", "homa", "ndp+aeolus",
			"expresspass", "ep+aeolus", "volume=off", "echo=cnp"}
		spec := parse(t, texts[int(scheme)%len(texts)])
		gate, granter, err := spec.New(paper)
		require.NoError(t, err)
		granter.Attach(&bell{})
		now := units.Time(1)
		var waits, inFlight, loose, again units.Bytes
		backlog := func() cc.Backlog { return cc.Backlog{Waits: waits, InFlight: inFlight} }
		word := func() (v uint32) {
			var b [4]byte
			n := copy(b[:], data)
			data = data[n:]
			return binary.BigEndian.Uint32(b[:])
		}
		for len(data) > 0 {
			op := data[0]
			data = data[1:]
			switch op % 8 {
			case 0:
				bytes := units.Bytes(word() % (1 << 28))
				waits += bytes
				gate.Posted(bytes, backlog(), now)
			case 1:
				for range op / 8 {
					out := cc.Outgoing{Bytes: min(pkt, waits), Again: again > 0, Backlog: backlog()}
					if waits == 0 || !gate.Ready(&out, now) {
						break
					}
					m := gate.Sent(&out, now)
					if waits -= out.Bytes; m.Set&cc.MarkUnscheduled != 0 {
						loose += out.Bytes
					}
					again = max(0, again-out.Bytes)
					inFlight += out.Bytes
					require.LessOrEqual(t, loose, units.Bytes(65800))
				}
			case 2:
				bytes := min(units.Bytes(op)*pkt, inFlight)
				inFlight, waits, again, loose = inFlight-bytes, waits+bytes, again+bytes, min(loose,
					inFlight-bytes)
				gate.Lost(bytes, backlog(), now)
			case 3, 4:
				n := cc.ControlMessage{Kind: cc.ControlKind(op / 8 % 3),
					Flags:  cc.ControlFlags(word()),
					Demand: word(), Spent: word(),
					Discarded: word(), CE: uint16(word()), Limit: word(), Seq: uint16(word()),
					Priority: uint8(word()), Congested: op&64 != 0}
				if op%8 == 3 {
					_ = gate.Receive(&n, backlog(), now)
				} else {
					_ = granter.Receive(&n, now)
				}
			case 5:
				now = now.Add(units.Duration(word()) * units.Nanosecond / 16)
			case 6:
				granter.Arrived(&cc.Arrival{Bytes: units.Bytes(op) * 16, Set: cc.MarkSet(word()),
					Grant: uint16(word()), Congested: op&64 != 0}, now)
			case 7:
				granter.Missing(1, pkt, now)
			}
			spoken := 0
			for at := gate.Next(); at != 0 && !at.After(now); at = gate.Next() {
				gate.Emit(backlog(), now)
				spoken++
				require.Less(t, spoken, 10, "the sender speaks for ever")
			}
			for at := granter.Next(); at != 0 && !at.After(now); at = granter.Next() {
				granter.Emit(false, now)
				spoken++
				require.Less(t, spoken, 2000, "the receiver speaks for ever")
			}
			if s, ok := gate.(*Sender); ok {
				require.True(t, s.spent <= s.limit && s.discarded <= s.spent &&
					s.limit-s.spent <= s.maxWindow, "%+v", s)
			}
			if r, ok := granter.(*Receiver); ok {
				require.True(t, r.spent <= r.limit && r.used >= 0 && r.limit <= r.demand &&
					r.unscheduledInFlight >= 0, "%+v", r)
			}
		}
	})
}
