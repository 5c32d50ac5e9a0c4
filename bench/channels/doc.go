// Package channels measures what PrioPlus must be told of a path: its base round trip, the noise of
// its delays, and with them the table of channels (section 4.3.2 of the paper).
//
// The instrument is a [Gauge], a congestion control that sends no more than it measures with.
// Whoever has a queue pair gives it that, posts messages, and asks for the [Survey] at the end:
// bench/roce_channels over perftest's session, lab/papers/prioplus/fig8 over its switch.
//
// The package imports cc, prioplus and units.
package channels
