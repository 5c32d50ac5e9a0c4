// Package pace schedules: it has a timing wheel ([Wheel]) and, built on it, a rate limiter for many
// flows ([Limiter]). The transport's timers are one Wheel, its pacing is one Limiter.
//
// A Wheel rounds each timer up to a slot of 128 ns and always knows the next non-empty slot. A
// Limiter is WF²Q+ (Bennett and Zhang, IEEE/ACM ToN 1997) with real time instead of virtual time.
// Flows whose next packet may not start yet wait in the wheel; among the eligible flows, the one
// with the earliest finish time is the head. The wheel, whose slots may be 8 ns here, only delays
// the release of a packet: each start time is computed from the exact previous one, so rates do not
// drift.
//
// A window takes precedence over a rate (TAURUS section 4.1 has both): a flow whose window is
// closed has nothing to send, and calls Wait when the window opens.
//
// Time is an argument of every call. Neither type reads a clock, starts a goroutine or takes a
// lock, and they allocate only to grow. The caller identifies timers and flows by small numbers,
// such as an index. Both belong to one polling core. The package imports only units and
// internal/prefetch.
package pace
