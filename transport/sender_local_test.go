package transport

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/units"
)

// region registers another region on s.
func (s *side) region(t testing.TB, n int, access Access) *MemoryRegion {
	t.Helper()
	mr, err := s.ep.RegisterMemory(s.pd, make([]byte, n), access)
	require.NoError(t, err)
	return mr
}

// OpLocalInv ends a key without a packet: requests before it still use the region, those behind it
// do not. It makes a completion as any request does.
func TestLocalInvalidate(t *testing.T) {
	for name, change := range map[string]func(*sideOptions){
		"RC":                  func(*sideOptions) {},
		"RC selective repeat": func(o *sideOptions) { o.sack, o.features = 64, 0 },
		"RC paced": func(o *sideOptions) {
			o.algorithm = &cc.Fixed{Window: endpoint.DefaultWindow, Rate: units.Gbps}
		},
		"RC with a small window": func(o *sideOptions) { o.algorithm = &cc.Fixed{Window: 100} },
		"UC":                     func(o *sideOptions) { o.kind = UC },
		"UC paced": func(o *sideOptions) {
			o.kind = UC
			o.algorithm = &cc.Fixed{Window: endpoint.DefaultWindow, Rate: units.Gbps}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			o := defaults()
			change(&o)
			a, b := p.connected(o)
			source := a.region(t, 5000, 0)
			b.recv(t, 1, 0, 5000)
			b.recv(t, 2, 0, 5000)
			a.post(t, WorkRequest{ID: 1, Op: OpSend, SGList: []SGE{source.SGE(0, 5000)}})
			a.post(t, WorkRequest{ID: 2, Op: OpLocalInv, InvalidateKey: source.LKey,
				Signaled: true})
			a.post(t, WorkRequest{ID: 3, Op: OpSend, Signaled: true,
				SGList: []SGE{a.mr.SGE(0, 10)}})
			require.True(t, source.Valid(), "posting does not execute it")
			require.Equal(t, []WorkCompletion{
				{ID: 2, Op: OpLocalInv, QPN: a.qp.Num}, {ID: 3, Op: OpSend, QPN: a.qp.Num},
			}, p.await(a, 2))
			require.False(t, source.Valid())
			got := p.await(b, 2)
			require.EqualValues(t, 5000, got[0].ByteLen)
			require.EqualValues(t, 10, got[1].ByteLen)
			a.post(t, WorkRequest{ID: 4, Op: OpSend, SGList: []SGE{source.SGE(0, 10)}})
			require.Equal(t, StatusLocProtErr, p.await(a, 1)[0].Status)
			p.conserved()
		})
	}
}

// The fence of a local invalidate is always set: the region stays valid until the peer has
// acknowledged, or sent, what earlier requests ask for.
func TestLocalInvalidateWaitsForEarlierRequests(t *testing.T) {
	for _, op := range []Op{OpSend, OpWrite, OpRead} {
		p := newPair(t)
		a, b := p.connected(defaults())
		region := a.region(t, 5000, LocalWrite|RemoteWrite)
		late := true
		p.lb.tamper = func([]byte) int { // no response of b's arrives
			if late {
				return 0
			}
			return 1
		}
		b.recv(t, 1, 0, 5000)
		a.post(t, WorkRequest{ID: 1, Op: op, Signaled: true, SGList: []SGE{region.SGE(0, 5000)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		a.post(t, WorkRequest{ID: 2, Op: OpLocalInv, InvalidateKey: region.LKey, Signaled: true})
		p.settle(100 * units.Microsecond)
		require.True(t, region.Valid(), op.String())
		require.Empty(t, a.poll())
		late = false
		got := p.await(a, 2)
		require.Equal(t, []Status{StatusSuccess, StatusSuccess},
			[]Status{got[0].Status, got[1].Status}, op.String())
		require.False(t, region.Valid())
	}
}

// A local invalidate needs neither the peer nor a neighbour, and begins in RTS alone.
func TestLocalInvalidateNeedsNoPeer(t *testing.T) {
	p := newPair(t)
	o := defaults()
	a, b := o.make(t, p.a), o.make(t, p.b)
	p.la.tamper = func([]byte) int { return 0 } // no ARP
	a.connect(t, o, b)
	region := a.region(t, 10, 0)
	require.NoError(t, a.qp.Modify(SQDrained, QPAttr{}))
	a.post(t, WorkRequest{ID: 1, Op: OpLocalInv, InvalidateKey: region.LKey, Signaled: true})
	p.settle(2 * units.Second)
	require.True(t, region.Valid(), "in SQD no request begins")
	require.NoError(t, a.qp.Modify(ReadyToSend, QPAttr{}))
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	require.False(t, region.Valid())
	require.Equal(t, ReadyToSend, a.qp.State())
}

// A key that names no region of the queue pair's domain fails the request.
func TestLocalInvalidateFails(t *testing.T) {
	for name, key := range map[string]func(*side) uint32{
		"of no region": func(a *side) uint32 { return a.mr.LKey ^ 1<<31 },
		"of a region that was deregistered": func(a *side) uint32 {
			gone := a.region(t, 10, 0)
			gone.Deregister()
			return gone.LKey
		},
		"of another domain": func(a *side) uint32 {
			other, err := a.ep.RegisterMemory(a.ep.AllocPD(), make([]byte, 10), 0)
			require.NoError(t, err)
			t.Cleanup(func() { require.True(t, other.Valid()) })
			return other.LKey
		},
	} {
		p := newPair(t)
		a, _ := p.connected(defaults())
		a.post(t, WorkRequest{ID: 1, Op: OpLocalInv, InvalidateKey: key(a)})
		a.post(t, WorkRequest{ID: 2, Op: OpSend})
		got := p.await(a, 2)
		require.Equal(t, StatusMWBindErr, got[0].Status, "a key %s", name)
		require.Equal(t, StatusWRFlushErr, got[1].Status)
		require.Equal(t, Errored, a.qp.State())
	}
}

func TestLocalInvalidateRefused(t *testing.T) {
	p := newPair(t)
	for _, c := range []struct {
		name string
		kind QPType
		wr   WorkRequest
		want error
		says string
	}{
		{"with memory", RC, WorkRequest{SGList: []SGE{{Length: 1}}}, ErrInvalid,
			"1 scatter/gather elements; it takes none"},
		{"with inline data", UC, WorkRequest{Inline: true, Data: []byte{1}}, ErrInvalid,
			"LOCAL_INV cannot be inline"},
		{"of a datagram queue pair", UD, WorkRequest{}, errors.ErrUnsupported,
			"UD has no such operation"},
	} {
		o := defaults()
		o.kind = c.kind
		a, _ := p.connected(o)
		c.wr.Op = OpLocalInv
		err := a.qp.PostSend(&c.wr)
		require.ErrorIs(t, err, c.want, c.name)
		require.ErrorContains(t, err, c.says, c.name)
		require.Equal(t, o.depth, a.qp.SendRoom())
	}
}
