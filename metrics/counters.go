package metrics

import (
	"strings"

	"github.com/goroce/goroce/transport"
)

// endpointCounter returns a metric of a field of transport.Stats.
func endpointCounter(name, help string, labels ...string) *family {
	return counter("goroce_endpoint_"+name, help, with(ofEndpoint, labels...)...)
}

var (
	dropped = endpointCounter("dropped_packets_total",
		"Packets dropped, by the names of transport.Stats.", "cause")
	naksReceived    = endpointCounter("naks_received_total", "NAKs received.", "kind")
	naksSent        = endpointCounter("naks_sent_total", "NAKs sent.", "kind")
	retriesExceeded = endpointCounter("retries_exceeded_total",
		"Queue pairs that failed because all retries were used.", "kind")
	management = endpointCounter("management_datagrams_total",
		"Datagrams of queue pair 1.", "outcome")
	tokenMessages = endpointCounter("token_messages_total",
		"RTSs and TOKENs.", "message")
	creditMessages = endpointCounter("credit_messages_total",
		"CREDITs: those sent alone and on ACKs, those received (credit_received includes ACKs "+
			"with one), and those that ask for returned credits.", "message")
)

// shown is how a field of transport.Stats is shown.
type shown struct {
	family *family
	label  string
}

// statsFields are the counters of transport.Stats other than drops that stand alone.
var statsFields = map[string]shown{
	"HeldDropped": {dropped, "held"}, "UCLost": {dropped, "uc_gap"},
	"UnreliableNoRecv": {dropped, "unreliable_without_receive"},
	"UnreliableErrors": {dropped, "unreliable_invalid"},
	"RepeatsRefused":   {dropped, "duplicate_read_refused"},

	"SequenceNaks": {naksReceived, "sequence"}, "RNRNaks": {naksReceived, "rnr"},
	"RemoteErrors": {naksReceived, "fatal"},
	"NakSequence":  {naksSent, "sequence"}, "NakInvalid": {naksSent, "invalid"},
	"NakAccess": {naksSent, "access"}, "NakOperational": {naksSent, "operational"},
	"RNRSent":            {naksSent, "rnr"},
	"RetriesExceeded":    {retriesExceeded, "timeout"},
	"RNRRetriesExceeded": {retriesExceeded, "rnr"},

	"ManagementReceived": {management, "received"}, "ManagementSent": {management, "sent"},
	"ManagementUnsent": {management, "unsent"},

	"RTSSent": {tokenMessages, "rts_sent"}, "RTSHeard": {tokenMessages, "rts_received"},
	"TokensSent": {tokenMessages, "token_sent"}, "TokensHeard": {tokenMessages, "token_received"},
	"TokensDropped":   {tokenMessages, "token_dropped"},
	"CreditsSent":     {creditMessages, "credit_sent"},
	"CreditsOnAcks":   {creditMessages, "on_ack_sent"},
	"CreditsHeard":    {creditMessages, "credit_received"},
	"CreditsAsked":    {creditMessages, "query_sent"},
	"CreditQuestions": {creditMessages, "query_received"},
	"CreditsForged":   {creditMessages, "forged"},

	"RxFrames": {endpointCounter("received_frames_total", "Frames received."), ""},
	"RxBytes":  {endpointCounter("received_bytes_total", "Bytes of frames received."), ""},
	"TxFrames": {endpointCounter("sent_frames_total", "Frames sent."), ""},
	"TxBytes":  {endpointCounter("sent_bytes_total", "Bytes of frames sent."), ""},

	"ResponseGaps": {endpointCounter("response_gaps_total",
		"Missing responses, which were requested again."), ""},
	"SelectiveAcks": {endpointCounter("selective_acks_received_total",
		"Selective ACKs received."), ""},
	"AcksSent": {endpointCounter("acks_sent_total", "ACKs sent, selective ones included."), ""},
	"SelectiveAcksSent": {endpointCounter("selective_acks_sent_total",
		"Selective ACKs sent."), ""},
	"BadTiming": {endpointCounter("bad_timings_total",
		"Residence times of peers that are longer than the round trip."), ""},
	"Timeouts":      {endpointCounter("timeouts_total", "Expired retransmission timers."), ""},
	"Retransmitted": {endpointCounter("retransmitted_packets_total", "Packets sent again."), ""},
	"CNPs": {endpointCounter("cnps_received_total",
		"Congestion notification packets received."), ""},
	"CNPsSent": {endpointCounter("cnps_sent_total", "Congestion notification packets sent."), ""},
	"MarkedCE": {endpointCounter("marked_packets_total",
		"Data packets that arrived with congestion experienced."), ""},
	"SwitchReports": {endpointCounter("switch_reports_total",
		"Reports received from switches with Bolt."), ""},
	"ProbesSent": {endpointCounter("probes_sent_total", "Probes sent."), ""},
	"ProbeAnswers": {endpointCounter("probe_answers_received_total",
		"Responses to our probes."), ""},
	"ProbesLost":     {endpointCounter("probes_lost_total", "Probes not answered in time."), ""},
	"ProbesAnswered": {endpointCounter("probes_answered_total", "Probes of peers answered."), ""},
	"Blocked": {endpointCounter("admission_blocked_total",
		"Times that requests waited for tokens or credits."), ""},
	"NoNeighbor": {endpointCounter("no_neighbor_requests_total",
		"Requests that failed because their next hop has no MAC address."), ""},
	"DuplicateRequests": {endpointCounter("duplicate_requests_total",
		"Requests that arrived again."), ""},
	"Missing": {endpointCounter("missing_packets_total",
		"Packets that did not arrive, though one sent later did, or their own header."), ""},
	"Trimmed": {endpointCounter("trimmed_packets_total",
		"Missing packets whose payload a switch cut off."), ""},
	"OutOfSequence": {endpointCounter("out_of_sequence_packets_total",
		"Packets that arrived behind a gap."), ""},
	"Held": {endpointCounter("held_packets_total",
		"Packets behind a gap that were kept until it closed."), ""},
	"NoBuffers": {endpointCounter("no_buffers_total",
		"Times that the port had no buffer to send from."), ""},
	"PortFull": {endpointCounter("port_full_total",
		"Times that the port took less than a burst."), ""},
	"CQOverruns": {endpointCounter("cq_overruns_total", "Completions lost."), ""},
	"AsyncLost": {endpointCounter("async_events_lost_total",
		"Asynchronous events that found their queue full."), ""},
	"TimersDue": {endpointCounter("timers_expired_total",
		"Timers of queue pairs that expired."), ""},
}

var blockedTime = endpointCounter("admission_blocked_seconds_total",
	"Time for which requests waited for tokens or credits and nothing else.")

// statsField returns how a counter of transport.Stats is shown.
func statsField(field string) (*family, string) {
	if cause, ok := strings.CutPrefix(field, "Drop"); ok {
		return dropped, snake(cause)
	}
	s := statsFields[field]
	return s.family, s.label
}

// The metrics of how an endpoint is polled, and of what it holds.
var (
	pollRounds = endpointCounter("poll_rounds_total", "Rounds of the poll loop.")
	busyRounds = endpointCounter("busy_rounds_total", "Rounds that found something to do.")
	busyTime   = endpointCounter("busy_seconds_total",
		"Time of rounds that found something to do; its rate is the busy share of the core.")
	awayTime = endpointCounter("away_seconds_total",
		"Time for which the endpoint was not polled: pauses of 5 µs and more.")
	stalledTime = endpointCounter("stalled_seconds_total",
		"Part of the away time that began while a response of a peer was expected.")
	peerAwayTime = endpointCounter("peer_away_seconds_total",
		"Time for which nothing was acknowledged because the peer did not poll.")
	longestGap = gauge("goroce_endpoint_longest_gap_seconds",
		"Longest pause of polling.", ofEndpoint...)
	queuePairs = gauge("goroce_endpoint_queue_pairs", "Queue pairs.", with(ofEndpoint, "state")...)
	timersSet  = gauge("goroce_endpoint_timers", "Queue pairs with a timer that is set.",
		ofEndpoint...)
	heldBuffers = gauge("goroce_endpoint_held_buffers",
		"Buffers of the port with packets behind gaps.", ofEndpoint...)
	gaps = gauge("goroce_endpoint_gaps",
		"Queue pairs with packets behind a gap.", ofEndpoint...)
	recoveries = gauge("goroce_endpoint_recoveries",
		"Queue pairs that recover from lost packets.", ofEndpoint...)
	neighbors = gauge("goroce_endpoint_neighbors",
		"Addresses in the neighbour table, its own included.", ofEndpoint...)
	queued = gauge("goroce_endpoint_queued_frames",
		"Frames that are built and wait for room in the port.", ofEndpoint...)
	neighborEvents = endpointCounter("neighbor_events_total",
		"ARP, neighbour discovery and ping, by the names of neigh.Counters.", "event")
	neighborDropped = endpointCounter("neighbor_dropped_frames_total",
		"Frames for the neighbour table that were dropped.", "cause")
	managerEvents = endpointCounter("connection_manager_events_total",
		"Events of the RDMA connection manager, by the names of rdmacm.Counters.", "event")
)

func neighborField(field string) (*family, string) {
	if cause, ok := strings.CutPrefix(field, "Drop"); ok {
		return neighborDropped, snake(cause)
	}
	return neighborEvents, snake(field)
}

func (s *endpointSample) write(w writer) {
	w.fields(s.Stats, statsField)
	w.value(blockedTime, float64(s.BlockedNS)/1e9)
	p := &s.Polling
	w.count(pollRounds, p.Rounds)
	w.count(busyRounds, p.BusyRounds)
	w.value(busyTime, seconds(p.Busy))
	w.value(awayTime, seconds(p.Away))
	w.value(stalledTime, seconds(p.Stalled))
	w.value(peerAwayTime, seconds(p.PeerAway))
	w.value(longestGap, seconds(p.LongestGap))
	for state := transport.Reset; state <= transport.Errored; state++ {
		w.value(queuePairs, float64(s.queuePairs.states[state]), state.String())
	}
	w.value(timersSet, float64(s.queuePairs.timers))
	w.value(heldBuffers, float64(s.Holdings.Buffers))
	w.value(gaps, float64(s.Holdings.Gaps))
	w.value(recoveries, float64(s.Holdings.Recoveries))
	w.value(neighbors, float64(s.Holdings.Neighbors))
	w.value(queued, float64(s.Holdings.Queued))
	w.fields(s.Neighbors, neighborField)
	w.fields(s.Management, byName(managerEvents))
	s.writeQueuePairs(w)
	s.writeCongestion(w)
	s.writeAdmission(w)
	s.offload.write(w)
}
