// Package pace says when: a timing wheel ([Wheel]), and on it a rate limiter for many flows
// ([Limiter]). The transport's timers are one Wheel, its pacing is one Limiter.
//
// A Wheel keeps each timer in the slot of 128 ns in which its moment ends, never earlier, and knows
// at any time which slot is the next that holds one. A Limiter is WF²Q+ (Bennett and Zhang,
// IEEE/ACM ToN 1997) with real time instead of virtual: flows whose next packet may not start yet
// wait in the wheel; among those that may, the one whose packet would end first is the head. The
// wheel only rounds up when a packet is let go: each start is computed from the exact one before,
// so that rates do not drift.
//
// A window comes before a rate (TAURUS section 4.1 has both): a flow whose window is shut has
// nothing to send, and says Wait when it opens.
//
// Both are told the time and read no clock, have no goroutine, take no lock, and allocate only to
// grow. Timers and flows are named by small numbers that the caller chooses, such as an index. They
// belong to one polling core. The package imports only units.
package pace
