// Package carc implements CARC, the cache-aware rate control of Li et al., "Cache-Aware I/O Rate
// Control for RDMA" (APNet '25). Credits, one per cache line, keep the data that a receiver's
// program has not yet consumed within its last-level cache: a sender transmits a message only when
// it holds a credit for each of its lines.
//
// A [Spec] holds the parameters; [Parse] reads one. Its [Endpoint] owns the credit pool of one
// receiver and makes a pair for one direction of each connection:
//
//	[Gate]     the sender's half (cc.CreditGate): a message takes credits for its lines when
//	           it is sent, and waits until there are enough
//	[Granter]  the receiver's half (cc.CreditGranter): credits are returned when the program
//	           has consumed a message
//
// The pool (formula 1) is in pool.go, δ (formula 2) in delta.go, the detection of the receiver's
// states S1 to S4 in sensor.go, and the further inputs from which a Sensor detects imminent cache
// misses in missdetector.go.
//
// The halves exchange cc.ControlMessages of kind CREDIT. A CREDIT carries the number of credits and
// the number of lines returned since the connection began, so a lost, duplicated or late CREDIT
// does no harm. A sender that waits queries the receiver, which makes up for the loss of the last
// CREDIT.
//
// An Endpoint and everything it made belong to the core that polls it. The package owns no
// goroutine, takes no lock, reads no clock, allocates nothing per message, and imports only cc and
// units.
package carc
