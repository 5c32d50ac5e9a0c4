// Package tocc is receiver-driven congestion control: ToCC of Liu et al., "An Anatomy of
// Token-Based Congestion Control" (IEEE/ACM ToN 2025), and the design space of its Table I, of
// which ExpressPass, Homa, NDP and Aeolus are points.
//
// A [Spec] says which point; [Parse] reads it. Its New makes a pair of cc.Gate and cc.Granter for
// one direction of a connection: a sender that lets packets leave on tokens, or before there are
// any (the unscheduled phase), and a receiver that grants tokens as data comes, never more than are
// needed (total volume control), as many under way as its window lets (token CC: any algorithm of
// package cc).
//
//	[Sender], [Receiver]             counters: ToCC, Homa, NDP (sections V-A, V-B)
//	[CreditSender], [CreditReceiver] credits of one packet each: ExpressPass
//
// The two speak by cc.ControlMessage: RTS says how much waits, TOKEN how much may be sent, both as
// cumulative counters, so that a notice that is lost, doubled or late does no harm. The bytes of
// tokens are payload; the window and the share of a link that tokens get are counted in bytes on
// the wire.
//
// An Endpoint's receivers belong to the core that polls it. The package owns no goroutine, takes no
// lock, reads no clock, allocates nothing for a packet or a notice, and imports cc and units only.
package tocc
