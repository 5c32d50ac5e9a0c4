// Package transport is RoCEv2: queue pairs that send and receive RDMA messages over a
// packet.Port, by the rules of the InfiniBand specification (volume 1, chapter 9) and its RoCEv2
// annex (A17).
//
// An [Endpoint] is everything one polling core needs: protection domains, memory regions,
// completion queues and queue pairs, behind one call, [Endpoint.Poll]. The verbs keep their names
// and meaning: a program that knows libibverbs knows this API. [Endpoint.Query] is
// ibv_query_device, [QueuePair.Modify] and [QueuePair.Query] are ibv_modify_qp and ibv_query_qp.
// What only a Host, a simulation or a handshake does with an endpoint is in internal/endpoint
// ([Endpoint.Loop], [Endpoint.Setup]).
//
// A queue pair consists of owners. Each has its own state, which only its own methods touch
// (owners_test.go), and a group of files named after it:
//
//   - sender: the send queue, segmentation, outstanding READs and atomics;
//   - receiver: the peer's requests, their sequence and execution, the reorder buffer, and answers;
//   - lossRecovery: what is outstanding, ACKs, timers, selective repeat and go-back-N;
//   - congestion: events to the algorithm and decisions from it, pacing, probes, and the echo of
//     marks, telemetry and times;
//   - admission: gates and granters (cc.Gate, cc.Granter), and their control messages;
//   - QueuePair itself: identity, states, attributes and errors (queuepair.go, state.go).
//
// The path of a packet in: Poll receives a burst; wire parses each frame and checks its ICRC; the
// QP number finds the queue pair; requests go to the receiver (receiver_request.go), ACKs to the
// loss recovery (loss_ack.go), as do READ responses (loss_response.go); what is neither goes to the
// neighbour table. What an ACK says is one value, ackInfo, that its parsers fill and pass down. The
// path out: PostSend copies a work request into the send queue; the scheduler visits the queue
// pairs that have something to send (scheduler.go), those with a rate in the order and at the time
// that pace says (congestion_pacing.go); the sender builds packets straight into port buffers
// (sender_path.go), the receiver its ACKs and READ responses (receiver_answer.go); full bursts go
// to the port.
//
// What is lost is sent again. Toward any peer that is go-back-N, as the specification has it
// (loss_timer.go). Toward one that agreed to it ([QPAttr], docs/wire.md) it is selective repeat,
// as in IRN: the receiver keeps what comes behind a gap (receiver_reorder.go), the sender's side
// learns which packets are missing (loss_selective.go) and retransmits these alone
// (loss_retransmit.go).
//
// A flow that congestion control has stopped measures its path by probes (congestion_probes.go),
// toward peers of ours and any other.
//
// Whatever else than a window must let a packet go, such as tokens of the receiver, is a cc.Gate,
// and its counterpart at the other end a cc.Granter ([QPAttr]). An endpoint spaces the
// tokens of its granters, so that the data they release fits its link (token_pacer.go). Credits for
// lines of a receiver's cache ride on ACKs (admission_credits.go); its program reports what it has
// consumed (cc.Admission). What waits for a gate is counted, and can be taken back
// (admission_wait.go).
//
// Queue pair 1, the GSI, belongs to a communication manager, if the program gives one to its setup
// ([Endpoint.Setup]): its datagrams go to and come from an rdmacm.Machine (gsi.go), by which
// programs of librdmacm and ours connect their queue pairs.
//
// Everything belongs to the core that polls: no method may be called from another goroutine. The
// package owns no goroutine, takes no lock, reads no clock and allocates nothing per packet; it
// imports units, packet, cc, pace, secret, transport/wire, internal/endpoint, internal/neigh,
// internal/rdmacm and the standard library without net, os and time.
package transport
