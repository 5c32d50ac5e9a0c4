package wireshark

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// pair is two endpoints on a pipe, in virtual time, one of which is recorded.
type pair struct {
	t        *testing.T
	now      units.Time
	a, b     *transport.Endpoint
	far      packet.Port // b's, for injected frames
	addrs    [2]netip.Prefix
	recorded recording
}

// newPair returns a pair. Faults of the pipe occur behind the recording.
func newPair(t *testing.T, addrs [2]string, vlan uint16, faults packet.FaultOptions) *pair {
	t.Helper()
	p := &pair{t: t}
	p.recorded = record(t, func() units.Time { return p.now })
	near, far := packet.Pipe(packet.PipeOptions{})
	lossy, err := packet.NewFaults(near, faults)
	require.NoError(t, err)
	p.far = far
	for i, port := range []packet.Port{p.recorded.Wrap(lossy), far} {
		p.addrs[i] = netip.MustParsePrefix(addrs[i])
		e, err := transport.New(transport.Config{Port: port, Addrs: p.addrs[i : i+1], VLAN: vlan,
			Seed: uint64(i + 1)}, 0)
		require.NoError(t, err)
		*[]**transport.Endpoint{&p.a, &p.b}[i] = e
	}
	return p
}

// run polls until done returns true.
func (p *pair) run(done func() bool) {
	p.t.Helper()
	end := p.now.Add(10 * units.Second)
	for !done() {
		before := p.a.Loop().Activity() + p.b.Loop().Activity()
		next := units.Earlier(p.a.Poll(p.now), p.b.Poll(p.now))
		if soon := p.now.Add(units.Microsecond); next.Before(soon) ||
			p.a.Loop().Activity()+p.b.Loop().Activity() != before {
			next = soon
		}
		require.True(p.t, next.Before(end), "no further event: a %+v\nb %+v", p.a.Stats(),
			p.b.Stats())
		p.now = next
	}
}

// pass advances time.
func (p *pair) pass(d units.Duration) {
	for end := p.now.Add(d); p.now.Before(end); p.now = p.now.Add(units.Microsecond) {
		p.a.Poll(p.now)
		p.b.Poll(p.now)
	}
}

// side is a queue pair with its resources.
type side struct {
	ep   *transport.Endpoint
	pd   *transport.ProtectionDomain
	cq   *transport.CompletionQueue
	qp   *transport.QueuePair
	mr   *transport.MemoryRegion
	done []transport.WorkCompletion
}

const memory = 1 << 17

func (p *pair) side(ep *transport.Endpoint, kind transport.QPType) *side {
	p.t.Helper()
	s := &side{ep: ep, pd: ep.AllocPD()}
	var err error
	s.cq, err = ep.CreateCQ(256)
	require.NoError(p.t, err)
	mem := make([]byte, memory)
	for i := range mem {
		mem[i] = byte(i*7 + i>>8)
	}
	s.mr, err = ep.RegisterMemory(s.pd, mem, access)
	require.NoError(p.t, err)
	s.qp, err = ep.CreateQP(transport.QPInit{Type: kind, PD: s.pd, SendCQ: s.cq, RecvCQ: s.cq,
		MaxSendWR: 64, MaxRecvWR: 64, SignalAll: true})
	require.NoError(p.t, err)
	return s
}

const access = transport.LocalWrite | transport.RemoteWrite | transport.RemoteRead |
	transport.RemoteAtomic

// connected connects a queue pair at each end; extended ones agree on the features of both
// endpoints.
func (p *pair) connected(kind transport.QPType, mtu units.Bytes, extended bool) (x, y *side) {
	p.t.Helper()
	x, y = p.side(p.a, kind), p.side(p.b, kind)
	var agreed [2]wire.Agreement
	if extended {
		of, theirs := p.a.Setup().Offer(), p.b.Setup().Offer()
		agreed = [2]wire.Agreement{wire.Agree(of, theirs), wire.Agree(theirs, of)}
		require.NotZero(p.t, agreed[0])
	}
	psns := [2]wire.PSN{0xfffffa, 0x123456} // one wraps
	for i, s := range []*side{x, y} {
		require.NoError(p.t, s.qp.Connect(transport.QPAttr{
			Access: access, QKey: qkey,
			Path: transport.AddressVector{IP: p.addrs[1-i].Addr(), TrafficClass: 26<<2 | 2,
				FlowLabel: 0x12345},
			PathMTU: mtu, DestQPN: []*side{y, x}[i].qp.Num, RecvPSN: psns[1-i],
			MaxDestRdAtomic: 4, MinRNRTimer: 1, Extension: agreed[i],
			SendPSN: psns[i], Timeout: 5, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 4,
		}))
	}
	return x, y
}

const qkey = 0x11111111

func (s *side) recv(p *pair, n int) {
	p.t.Helper()
	require.NoError(p.t,
		s.qp.PostRecv(&transport.RecvRequest{SGList: []transport.SGE{s.mr.SGE(1<<16, n)}}))
}

func (s *side) poll() int {
	var wcs [16]transport.WorkCompletion
	n := s.cq.Poll(wcs[:])
	s.done = append(s.done, wcs[:n]...)
	return len(s.done)
}

// send posts a request and waits for its completion.
func (s *side) send(p *pair, wr transport.WorkRequest) transport.Status {
	p.t.Helper()
	require.NoError(p.t, s.qp.PostSend(&wr))
	s.done = nil
	p.run(func() bool { return s.poll() > 0 })
	return s.done[0].Status
}
