package transport

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// A request of UC or UD that fails ends the send queue alone: it flushes, the queue pair receives,
// and after a Modify to RTS it sends again.
func TestSQE(t *testing.T) {
	const qkey = 0x11111111
	for _, kind := range []QPType{UC, UD} {
		t.Run(kind.String(), func(t *testing.T) {
			p := newPair(t)
			o := defaults()
			o.kind = kind
			a, b := o.make(t, p.a), o.make(t, p.b)
			if kind == UD {
				for _, s := range []*side{a, b} {
					require.NoError(t, s.qp.Connect(QPAttr{QKey: qkey}))
				}
			} else {
				a.connect(t, o, b)
				b.connect(t, o, a)
			}
			send := func(s *side, to *side, id uint64, key uint32) {
				sge := s.mr.SGE(0, 100)
				sge.LKey ^= key
				wr := WorkRequest{ID: id, Op: OpSend, Signaled: true, SGList: []SGE{sge}}
				if kind == UD {
					ip := map[*side]string{a: "10.0.0.1", b: "10.0.0.2"}[to]
					ah, err := s.ep.CreateAH(s.pd, AddressVector{IP: netip.MustParseAddr(ip)})
					require.NoError(t, err)
					wr.AH, wr.RemoteQPN, wr.RemoteQKey = ah, to.qp.Num, qkey
				}
				s.post(t, wr)
			}
			for id := range uint64(4) {
				a.recv(t, 100+id, 0, 1000)
				b.recv(t, 200+id, 0, 1000)
			}
			send(a, b, 1, 0)
			send(a, b, 2, 1<<31) // a key of no region
			send(a, b, 3, 0)
			got := p.await(a, 3)
			for i, want := range []Status{StatusSuccess, StatusLocProtErr, StatusWRFlushErr} {
				require.Equal(t, want, got[i].Status, "request %d", got[i].ID)
			}
			require.Equal(t, SQErrored, a.qp.State())
			_, event := p.a.PollAsync()
			require.False(t, event, "the completion has it")
			require.Len(t, p.await(b, 1), 1)

			send(a, b, 4, 0)
			require.Equal(t, StatusWRFlushErr, p.await(a, 1)[0].Status)
			send(b, a, 5, 0)
			require.EqualValues(t, 100, p.await(a, 1)[0].ID, "it receives")
			p.await(b, 1)

			require.ErrorIs(t, a.qp.Modify(SQDrained, QPAttr{}), ErrState)
			require.ErrorContains(t, a.qp.Modify(SQErrored, QPAttr{}), "enters SQE by itself")
			require.NoError(t, a.qp.Modify(ReadyToSend, QPAttr{}))
			require.Equal(t, o.depth, a.qp.SendRoom())
			for id := range uint64(3) {
				send(a, b, 6+id, 0)
			}
			for _, wc := range p.await(a, 3) {
				require.Equal(t, StatusSuccess, wc.Status)
			}
			require.Len(t, p.await(b, 3), 3)

			send(a, b, 9, 1<<31)
			p.await(a, 1)
			require.Equal(t, SQErrored, a.qp.State())
			require.NoError(t, a.qp.Modify(Errored, QPAttr{}))
			require.Equal(t, StatusWRFlushErr, p.await(a, 3)[0].Status, "receives are flushed")
			p.settle(units.Millisecond)
			p.conserved()
		})
	}
}
