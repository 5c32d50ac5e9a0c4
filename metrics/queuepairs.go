package metrics

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
)

var ofQueuePair = with(ofEndpoint, "qp")

// other is the label of the queue pairs without series of their own.
const other = "other"

// The metrics of queue pairs.
var (
	qpInfo = gauge("goroce_queue_pair_info", "Properties of the queue pair; always 1.",
		with(ofQueuePair, "service", "peer", "peer_qp", "algorithm")...)
	qpSentPackets = counter("goroce_queue_pair_sent_packets_total",
		"Request packets sent, retransmissions included.", ofQueuePair...)
	qpSentBytes = counter("goroce_queue_pair_sent_bytes_total",
		"Payload of request packets sent, retransmissions included.", ofQueuePair...)
	qpReceivedPackets = counter("goroce_queue_pair_received_packets_total",
		"Requests and responses accepted.", ofQueuePair...)
	qpReceivedBytes = counter("goroce_queue_pair_received_bytes_total",
		"Payload of requests and responses accepted.", ofQueuePair...)
	qpRetransmitted = counter("goroce_queue_pair_retransmitted_packets_total",
		"Packets sent again.", ofQueuePair...)
	qpTimeouts = counter("goroce_queue_pair_timeouts_total", "Expired retransmission timers.",
		ofQueuePair...)
	qpNAKs = counter("goroce_queue_pair_naks_received_total", "NAKs received.",
		with(ofQueuePair, "kind")...)
	qpCNPs = counter("goroce_queue_pair_cnps_received_total",
		"Congestion notification packets received.", ofQueuePair...)
	qpMarked = counter("goroce_queue_pair_marked_packets_total",
		"Data packets that arrived with congestion experienced.", ofQueuePair...)
	qpDuplicates = counter("goroce_queue_pair_duplicate_requests_total",
		"Requests that arrived again.", ofQueuePair...)
	qpUnacked = gauge("goroce_queue_pair_unacknowledged_bytes",
		"Bytes posted and not acknowledged.", ofQueuePair...)
	qpInFlight = gauge("goroce_queue_pair_in_flight_bytes", "Bytes sent and not acknowledged.",
		ofQueuePair...)
	qpWindow = gauge("goroce_queue_pair_window_bytes", "Window of congestion control.",
		ofQueuePair...)
	qpRate = gauge("goroce_queue_pair_pacing_bytes_per_second",
		"Rate of congestion control; 0 if packets are not paced.", ofQueuePair...)
	qpDelay = gauge("goroce_queue_pair_delay_seconds",
		"Newest delay sample; 0 if there was none.", ofQueuePair...)
	qpTarget = gauge("goroce_queue_pair_target_seconds",
		"Delay aimed at; 0 without a target.", ofQueuePair...)
	qpCuts = counter("goroce_queue_pair_cuts_total",
		"Cuts of the window or rate by their reason; absent for reasons that did not occur.",
		with(ofQueuePair, "reason")...)
	qpBlocked = counter("goroce_queue_pair_admission_blocked_seconds_total",
		"Time for which requests waited for tokens or credits and nothing else; absent without "+
			"admission.", ofQueuePair...)
)

func (s *endpointSample) writeQueuePairs(w writer) {
	for i := range s.queuePairs.largest {
		writeQueuePair(w.add(qpLabel(&s.queuePairs.largest[i])), &s.queuePairs.largest[i])
	}
	writeQPCounters(w.add(other), &s.rest)
}

func qpLabel(qp *transport.QPSample) string { return fmt.Sprintf("%#x", uint32(qp.Num)) }

func writeQueuePair(w writer, qp *transport.QPSample) {
	peer, number := "", ""
	if qp.Peer.IsValid() {
		peer, number = qp.Peer.String(), fmt.Sprintf("%#x", uint32(qp.PeerNum))
	}
	w.value(qpInfo, 1, qp.Type.String(), peer, number, qp.Algorithm)
	writeQPCounters(w, &qp.QPCounters)
	w.value(qpUnacked, float64(qp.Unacked))
	w.value(qpInFlight, float64(qp.InFlight))
	c := &qp.Congestion
	w.value(qpWindow, float64(c.Window))
	w.value(qpRate, float64(c.Rate)/8)
	w.value(qpDelay, seconds(c.Delay))
	w.value(qpTarget, seconds(c.Target))
	for r := cc.NoCut + 1; int(r) < cc.Reasons; r++ {
		if c.Cuts[r] > 0 {
			w.count(qpCuts, c.Cuts[r], r.String())
		}
	}
	if qp.Admission.Active {
		w.value(qpBlocked, seconds(qp.Admission.BlockedTime))
	}
}

func writeQPCounters(w writer, c *transport.QPCounters) {
	w.count(qpSentPackets, c.PacketsSent)
	w.count(qpSentBytes, c.BytesSent)
	w.count(qpReceivedPackets, c.PacketsReceived)
	w.count(qpReceivedBytes, c.BytesIn)
	w.count(qpRetransmitted, c.Retransmitted)
	w.count(qpTimeouts, c.Timeouts)
	w.count(qpNAKs, c.SequenceNaks, "sequence")
	w.count(qpNAKs, c.RNRNaks, "rnr")
	w.count(qpCNPs, c.CNPs)
	w.count(qpMarked, c.MarkedCE)
	w.count(qpDuplicates, c.DuplicateRequests)
}
