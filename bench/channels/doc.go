// Package channels measures the parameters of PrioPlus for a path: its base round-trip time, the
// noise of its delays, and from these the table of channels (section 4.3.2 of the paper).
//
// The instrument is a [Gauge], a congestion control that only sends what it measures with. A
// program installs it in a queue pair, posts messages, and calls [Gauge.Survey] at the end:
// bench/channels/program does so over perftest's session, lab/papers/prioplus/fig8 over its switch.
//
// The package imports cc, prioplus and units.
package channels
