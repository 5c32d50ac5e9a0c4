// Package tocc implements receiver-driven congestion control: ToCC of Liu et al., "An Anatomy of
// Token-Based Congestion Control" (IEEE/ACM ToN 2025), and the design space of its Table I, which
// includes ExpressPass, Homa, NDP and Aeolus.
//
// A [Spec] is a point of the design space; [Parse] reads one. Its New makes a cc.Gate and a
// cc.Granter for one direction of a connection. The sender transmits packets on tokens, or before
// the first tokens arrive (the unscheduled phase). The receiver grants tokens as data arrives,
// never more than are needed (total volume control), while the tokens in flight are within its
// window (token CC: any algorithm of package cc).
//
//	[Sender], [Receiver]             cumulative counters: ToCC, Homa, NDP (sections V-A, V-B)
//	[CreditSender], [CreditReceiver] credits of one packet each: ExpressPass
//
// The halves exchange cc.ControlMessages: an RTS carries the demand, a TOKEN what may be sent, both
// as cumulative counters, so a lost, duplicated or late message does no harm. Tokens are counted in
// bytes of payload; the window and the tokens' share of a link are counted in bytes on the wire.
//
// The receivers of an [Endpoint] belong to the core that polls it. The package owns no goroutine,
// takes no lock, reads no clock, allocates nothing per packet or message, and imports only cc and
// units.
package tocc
