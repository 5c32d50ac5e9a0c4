// Package carc is cache-aware rate control: CARC of Li et al., "Cache-Aware I/O Rate Control for
// RDMA" (APNet '25). What a receiver's program has not consumed stays within its last-level cache,
// for every sender has credits, a cache line each, and sends no message without.
//
// A [Spec] says how; [Parse] reads it. Its Endpoint has the pool of credits of one receiver, and
// makes a pair for one direction of each of its connections:
//
//	[Gate]     the sender's half (cc.CreditGate): a message takes its lines when it leaves, and waits until there are as many
//	[Granter]  the receiver's half (cc.CreditGranter): lines go back when the program has consumed a message
//
// The pool (formula 1) is in pool.go; what loosens it, δ (formula 2), in loosened.go; which of the
// states S1 to S4 the receiver is in, and how one knows, in sensor.go.
//
// The halves speak by cc.Notice of kind CREDIT, which says how many credits there are and how many
// lines were returned since the connection began: one that is lost, doubled or late does no harm.
// The last that is lost is asked for by the sender that waits for it.
//
// An Endpoint, and all that it made, belong to the core that polls it. The package owns no
// goroutine, takes no lock, reads no clock, allocates nothing for a message or a notice, and
// imports cc and units only.
package carc
