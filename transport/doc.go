// Package transport implements RoCEv2: queue pairs that send and receive RDMA messages over a
// packet.Port, by the rules of the InfiniBand specification (volume 1, chapter 9) and its RoCEv2
// annex (A17).
//
// An [Endpoint] has everything that one polling core needs: protection domains, memory regions,
// completion queues and queue pairs, behind one call, [Endpoint.Poll]. The verbs have the names and
// meaning of libibverbs': [Endpoint.Query] is ibv_query_device, [QueuePair.Modify] and
// [QueuePair.Query] are ibv_modify_qp and ibv_query_qp. What only a Host, a simulation or a
// handshake does with an endpoint is in internal/endpoint ([Endpoint.Loop], [Endpoint.Setup]).
//
// A queue pair consists of parts called owners. Each has its own state, which only its own methods
// touch (owners_test.go), and a group of files named after it:
//
//   - sender: the send queue, segmentation, outstanding READs and atomics;
//   - receiver: the peer's requests, their sequence and execution, the reorder buffer, and
//     responses;
//   - lossRecovery: what is outstanding, ACKs, timers, selective repeat and go-back-N;
//   - congestion: events to the algorithm and decisions from it, pacing, probes, and the echo of
//     marks, telemetry and times;
//   - admission: gates and granters (cc.Gate, cc.Granter), and their control messages;
//   - QueuePair itself: identity, states, attributes and errors (queuepair.go, state.go).
//
// The path of a packet in: Poll receives a burst; wire parses each frame and checks its ICRC; the
// queue pair number finds the queue pair. Requests go to the receiver (receiver_request.go), ACKs
// (loss_ack.go) and READ responses (loss_response.go) to the loss recovery, and other frames to the
// neighbour table. The content of an ACK is one value, ackInfo, that its parsers fill in and pass
// down. The path out: PostSend copies a work request into the send queue. The scheduler serves the
// queue pairs that have something to send (scheduler.go), paced ones in the order and at the times
// that package pace computes (congestion_pacing.go). The sender builds its packets directly in port
// buffers (sender_path.go), and so does the receiver with ACKs and READ responses
// (receiver_respond.go). Full bursts go to the port.
//
// Lost packets are retransmitted. Toward any peer the recovery is go-back-N, as in the
// specification (loss_timer.go). Toward a peer that agreed to it ([QPAttr], docs/wire.md) it is
// selective repeat, as in IRN: the receiver keeps packets behind a gap (receiver_reorder.go), and
// the requester learns which packets are missing (loss_selective.go) and retransmits only these
// (loss_retransmit.go).
//
// A flow that congestion control has stopped measures its path by probes (congestion_probes.go),
// toward any peer.
//
// A further condition for a packet to leave, such as tokens of the receiver, is a cc.Gate. Its
// counterpart at the other end is a cc.Granter ([QPAttr]). An endpoint spaces the tokens
// of its granters, so that the data they release fits its link (token_pacer.go). Credits for lines
// of a receiver's cache ride on ACKs (admission_credits.go); its program reports what it has
// consumed (cc.Admission). Requests that wait for a gate are counted, and can be cancelled
// (admission_wait.go).
//
// Queue pair 1, the GSI, belongs to a communication manager if the program gives one to its setup
// ([Endpoint.Setup]): an rdmacm.Machine sends and receives its datagrams (gsi.go), and so connects
// queue pairs with programs of librdmacm and of ours.
//
// Everything belongs to the core that polls: no method may be called from another goroutine. The
// package starts no goroutine, takes no lock, reads no clock and allocates nothing per packet. It
// imports units, packet, cc, pace, secret, transport/wire, internal/endpoint, internal/neigh,
// internal/prefetch, internal/rdmacm and the standard library without net, os and time.
package transport
