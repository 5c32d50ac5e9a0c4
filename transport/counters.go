package transport

import "github.com/goroce/goroce/units"

// Stats are the statistics of an endpoint: what it did and what it refused, each under its own
// name, how it was polled, and what it holds. Drops change no memory, no queue pair and no answer,
// except where the name says so.
type Stats struct {
	RxFrames, RxBytes uint64
	TxFrames, TxBytes uint64

	// Packets dropped before their service was looked at.
	DropNotOurs      uint64 // neither RoCEv2 nor for the neighbour table
	DropTruncated    uint64
	DropIPHeader     uint64 // version, options, fragment, checksum
	DropUDPLength    uint64
	DropBTH          uint64 // transport header version
	DropOpcode       uint64 // not one the specification defines
	DropLength       uint64 // payload or pad impossible for the opcode
	DropExtension    uint64 // version, length or TLV of the extension impossible
	DropICRC         uint64
	DropUnknownQP    uint64
	DropDestination  uint64 // IP address is not the endpoint's (UD)
	DropWrongService uint64 // opcode of another transport service than the queue pair's
	DropState        uint64 // queue pair not ready for it
	DropPeer         uint64 // source or destination address differs from the connection's
	DropPKey         uint64
	DropQKey         uint64 // UD
	DropUnnegotiated uint64 // of the extension, not agreed on by this queue pair and its peer
	DropTag          uint64 // of the extension, from an earlier use of the queue pair
	// datagram to queue pair 1 that has not 256 bytes, or does not come from a queue pair 1
	DropManagement uint64

	// The requester.
	DropStaleAck       uint64 // older than what is acknowledged already
	DropGhostAck       uint64 // acknowledges what was never sent
	DropBadSyndrome    uint64 // reserved AETH code
	DropStaleResponse  uint64 // READ or atomic response that came before
	DropGhostResponse  uint64 // response to nothing that was asked
	DropBadResponse    uint64 // length or opcode does not fit what was asked; ends the queue pair
	ResponseGaps       uint64 // a READ or atomic response is missing: requested again
	DropSACK           uint64 // SACK of what was never sent: only the ACK counted
	SelectiveAcks      uint64 // received
	BadTiming          uint64 // peer reported a residence time longer than the round trip
	SequenceNaks       uint64 // received
	RNRNaks            uint64 // received
	RemoteErrors       uint64 // fatal NAKs received
	Timeouts           uint64
	Retransmitted      uint64 // packets sent again
	CNPs               uint64 // received
	SwitchReports      uint64 // received, from switches with Bolt
	DropGhostReport    uint64 // report of a switch on a packet that was never sent
	RetriesExceeded    uint64
	RNRRetriesExceeded uint64
	ProbesSent         uint64
	ProbeAnswers       uint64 // to our probes
	RTSSent            uint64
	TokensHeard        uint64
	Blocked            uint64 // times that a gate made a queue pair's requests wait
	BlockedNS          uint64 // how long, in total, in ns
	CreditsAsked       uint64 // CREDITs that ask for returned credits
	CreditsHeard       uint64 // CREDITs, and ACKs with one
	ProbesLost         uint64 // not answered in time
	DropStaleProbe     uint64 // answer to a probe that is not outstanding: late, or a duplicate
	NoNeighbor         uint64 // requests that failed because their next hop has no MAC address

	// The responder.
	DuplicateRequests uint64 // answered as the specification requires, executed once
	// duplicate READs whose region has been deregistered: not answered
	RepeatsRefused uint64
	DropDuplicate  uint64 // duplicate READ or atomic that matches none of those kept
	// packets that did not arrive, though one sent later did, or their own header
	Missing uint64
	Trimmed uint64 // of these: SENDs and WRITEs whose payload a switch cut off
	// header without payload that is ignored: of another packet, not ahead, or from a peer without
	// selective repeat
	DropTrimmed   uint64
	OutOfSequence uint64 // packet behind a gap: NAK for the first, or held if so agreed
	Held          uint64 // of these: kept until the gap closes
	// packet or response that could not be held: no buffer to spare, or too far ahead
	DropAhead uint64
	// held packet that was dropped: another queue pair needed its buffer, or the gap never closed
	HeldDropped uint64
	NakSequence uint64 // sent
	// sent: opcode out of sequence, length, unaligned atomic, oversize SEND, too many READs
	NakInvalid        uint64
	NakAccess         uint64 // sent: key, bounds or permission
	NakOperational    uint64 // sent: the memory of our receive is not valid
	RNRSent           uint64
	CNPsSent          uint64 // for packets that came with congestion experienced
	AcksSent          uint64 // selective ones included
	SelectiveAcksSent uint64
	MarkedCE          uint64 // data packets with congestion experienced
	ProbesAnswered    uint64
	RTSHeard          uint64 // received
	TokensSent        uint64
	CreditsSent       uint64 // CREDITs of their own
	CreditsOnAcks     uint64 // on ACKs
	CreditQuestions   uint64 // CREDITs received that ask for returned credits
	TokensDropped     uint64 // of granters with a queue at the endpoint: the queue was full
	DropProbe         uint64 // probe or answer with an impossible mode or PSN
	DropProbeRate     uint64 // probe too soon after another
	UCLost            uint64 // UC packets dropped after a gap
	UnreliableNoRecv  uint64 // UC or UD message without a receive
	UnreliableErrors  uint64 // UC or UD packet that RC would have answered with a fatal NAK

	// Datagrams of queue pair 1; the communication manager counts their contents (rdmacm.Counters).
	ManagementReceived uint64
	ManagementSent     uint64
	// no route to the next hop, or its MAC address did not become known
	ManagementUnsent uint64

	DropNotice    uint64 // RTS, TOKEN or CREDIT with impossible values or PSN
	CreditsForged uint64 // CREDIT that returns credits never taken; ends the queue pair

	// The endpoint itself.
	NoBuffers  uint64 // the port had no buffer
	PortFull   uint64 // the port took less than a burst
	CQOverruns uint64 // completions lost
	AsyncLost  uint64 // asynchronous events that found their queue full
	TimersDue  uint64 // timers of queue pairs that expired

	// Polling is how the endpoint was polled since it was made. In virtual time the rounds that a
	// simulation skips (Idle) are not pauses.
	Polling struct {
		Rounds uint64
		// Busy is the time that rounds took which found something to do, without Away; BusyRounds
		// is their number.
		Busy       units.Duration
		BusyRounds uint64
		// Away is the time for which the endpoint was not polled: the polling thread napped,
		// yielded to another thread or did not have its core. Pauses between rounds of less than
		// 5 µs do not count.
		Away units.Duration
		// Stalled is the part of Away that began while an answer of a peer was expected.
		Stalled units.Duration
		// PeerAway is the time for which nothing was acknowledged because the peer did not poll, as
		// reported by delay samples (cc.Event.RemoteAway). For how long the peer's port may hold
		// frames (packet.Info.RxCoalescing) counts, too. Flows whose algorithm takes no delay
		// samples, or whose peer does not report, add nothing.
		PeerAway units.Duration
		// LongestGap is the longest single pause.
		LongestGap units.Duration
	}

	// Holdings is what the endpoint keeps now because of what its peers sent, or did not send.
	Holdings struct {
		QueuePairs int
		Buffers    int // of the port, with packets behind gaps: Config.MaxHeld at most
		Gaps       int // queue pairs with such packets
		Recoveries int // queue pairs that recover from lost packets
		Neighbors  int // addresses in the neighbour table, its own included
		Queued     int // frames that are built and wait for room in the port
	}
}

// polling and holdings are the parts of Stats.
type (
	polling = struct {
		Rounds                              uint64
		Busy                                units.Duration
		BusyRounds                          uint64
		Away, Stalled, PeerAway, LongestGap units.Duration
	}
	holdings = struct{ QueuePairs, Buffers, Gaps, Recoveries, Neighbors, Queued int }
)

// Stats returns the statistics up to now.
func (e *Endpoint) Stats() Stats {
	s := e.counters
	s.Polling = e.rounds.polling
	s.Holdings = holdings{QueuePairs: e.qps.count, Buffers: e.held, Gaps: e.reorderBuffers.inUse,
		Recoveries: e.recoveries.inUse, Neighbors: e.neighbors.Len()}
	for i := range e.out {
		s.Holdings.Queued += e.out[i].n
	}
	return s
}
