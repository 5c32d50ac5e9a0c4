// Package transport is RoCEv2: queue pairs that send and receive RDMA messages over a
// packet.Port, by the rules of the InfiniBand specification (volume 1, chapter 9) and its RoCEv2
// annex (A17).
//
// An [Endpoint] is everything one polling core needs: protection domains, memory regions,
// completion queues and queue pairs, behind one call, [Endpoint.Poll]. The verbs keep their names
// and meaning: a program that knows libibverbs knows this API.
//
// The path of a packet in: Poll receives a burst; wire parses each frame and checks its ICRC; the
// QP number finds the queue pair; requests go to the responder half (responder.go), ACKs and READ
// responses to the requester half (acknowledge.go, readresponse.go); what is neither goes to the
// neighbour table. The path out: PostSend copies a work request into the send queue; Poll's
// scheduler visits the queue pairs that have something to send (scheduler.go), those with a rate in
// the order and at the time that pace says (pacing.go), the requester builds packets straight into
// port buffers (requester.go), the responder its ACKs and READ responses (respond.go); full bursts
// go to the port.
//
// What is lost is sent again. Toward any peer that is go-back-N, as the specification has it
// (retransmit.go). Toward one that agreed to it ([RTRAttr], docs/wire.md) it is selective repeat,
// as in IRN: the responder keeps what comes behind a gap (ahead.go), the requester learns which
// packets are missing (recovery.go) and sends these alone again (resend.go).
//
// A flow that congestion control has stopped learns how long its way is by probes (probes.go), from
// peers of ours and any other.
//
// What else than a window must let a packet go, such as tokens of the receiver, is a cc.Gate, and
// who says so at the other end a cc.Granter ([QueuePair.Admit]; admission.go, notices.go). An
// endpoint spaces the tokens of its granters, so that what they let go fits its link (tokens.go).
// Credits for lines of a receiver's cache ride on ACKs (credits.go); its program says what it has
// consumed ([QueuePair.Consumed]). What a gate keeps waiting is counted, and can be taken back
// (blocked.go).
//
// Queue pair 1 belongs to a communication manager, if the program gives one to [Endpoint.Manage]:
// its datagrams go to and come from an rdmacm.Machine (manage.go), by which programs of librdmacm
// and ours connect their queue pairs.
//
// Everything belongs to the core that polls: no method may be called from another goroutine. The
// package owns no goroutine, takes no lock, reads no clock and allocates nothing per packet; it
// imports units, packet, cc, pace, secret, transport/wire, internal/neigh, internal/rdmacm and the
// standard library without net, os and time.
package transport
