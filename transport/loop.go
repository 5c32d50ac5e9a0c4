package transport

import (
	"net/netip"

	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Loop returns the interface for poll loops that need more control than Poll gives, such as a
// Host's.
func (e *Endpoint) Loop() endpoint.Loop { return (*loop)(e) }

// loop implements endpoint.Loop.
type loop Endpoint

func (l *loop) Receive(now units.Time) int         { return (*Endpoint)(l).receiveRound(now) }
func (l *loop) Transmit(now units.Time) units.Time { return (*Endpoint)(l).transmitRound(now) }
func (l *loop) OnRound(f func(now units.Time))     { l.onRound = f }
func (l *loop) Now() units.Time                    { return l.now }
func (l *loop) Activity() uint64 {
	return l.counters.RxFrames + l.counters.TxFrames
}
func (l *loop) IsBusy() bool                        { return (*Endpoint)(l).isBusy() }
func (l *loop) ExpectsResponse(now units.Time) bool { return now.Before(l.responseWait.until) }
func (l *loop) FlushTrace()                         { l.trace.close() }
func (l *loop) ResetLongestGap()                    { l.rounds.polling.LongestGap = 0 }

// Setup returns the interface for handshakes: those of a Host, of the RDMA connection manager and
// of simulations.
func (e *Endpoint) Setup() endpoint.Setup { return (*setup)(e) }

// setup implements endpoint.Setup.
type setup Endpoint

func (s *setup) Offer() wire.Offer { return (*Endpoint)(s).offer() }
func (s *setup) RandomPSN() uint32 {
	return uint32(s.secrets.psns.Uint64()) & wire.PSNMask
}
func (s *setup) FailSends(n wire.QPN) {
	qp := s.qps.find(n)
	if qp != nil && qp.Type != RC && (qp.state == ReadyToSend || qp.state == SQDrained) {
		qp.failSends()
	}
}
func (s *setup) Neighbors() *neigh.Table                   { return s.neighbors }
func (s *setup) Source(dst netip.Addr) (netip.Addr, error) { return s.neighbors.Source(dst) }
func (s *setup) Manage(m *rdmacm.Machine) error {
	return (*Endpoint)(s).attachManager(m)
}
