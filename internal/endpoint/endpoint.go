package endpoint

import (
	"net/netip"

	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Loop is the part of an endpoint that a poll loop uses. Its methods must be called by the core
// that polls the endpoint.
type Loop interface {
	// Receive is the first half of Poll: it handles the frames that arrived and the timers that
	// expired, and returns the number of frames. Transmit must follow. A loop in real time calls
	// both, so that frames leave with a later timestamp than those that arrived in the same round.
	Receive(now units.Time) int
	// Transmit is the second half of Poll: it sends. It returns as Poll does.
	Transmit(now units.Time) units.Time
	// OnRound sets a function that every Poll calls between receiving and sending. A program on the
	// polling core sees a completion and posts its response in the same round.
	OnRound(f func(now units.Time))
	// Now returns the time of the latest Poll.
	Now() units.Time
	// Activity returns the number of frames received and sent. A round that does not change it
	// found no work on the wire.
	Activity() uint64
	// IsBusy reports whether any queue pair has requests, responses or unacknowledged packets.
	IsBusy() bool
	// ExpectsResponse reports whether data or a probe left within the last few round trips, so that
	// a response may arrive soon. The polling core should not sleep then.
	ExpectsResponse(now units.Time) bool
	// ResetLongestGap starts a new maximum in the polling statistics.
	ResetLongestGap()
	// FlushTrace records what the endpoint's event log sums up, at the end of a run. Endpoint.Close
	// does so, too.
	FlushTrace()
}

// Setup is the part of an endpoint that handshakes use.
type Setup interface {
	// Offer returns the extensions of RoCEv2 that the endpoint supports, for the peer to agree to.
	// Each connection needs an offer of its own.
	Offer() wire.Offer
	// RandomPSN returns an unpredictable first PSN for a connection.
	RandomPSN() uint32
	// Neighbors returns the table that resolves addresses and responds to ARP, neighbour discovery
	// and ping.
	Neighbors() *neigh.Table
	// Source returns the endpoint's own address toward dst.
	Source(dst netip.Addr) (netip.Addr, error)
	// Manage makes the endpoint the owner of queue pair 1: from now on Poll gives m the datagrams
	// of peers' connection managers, runs its timers and sends its datagrams. The program takes the
	// events, as in OnRound, with Machine.Event. A peer finds only one of the endpoints that share
	// an address, but m may manage connections of the others, too.
	Manage(m *rdmacm.Machine) error
	// FailSends moves a UC or UD queue pair that sends to SQE, as after a request that failed.
	FailSends(qpn wire.QPN)
}
