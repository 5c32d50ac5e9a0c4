// Package prioplus implements virtual priority: PrioPlus of Zhang et al., "Enabling Virtual
// Priority in Data Center Congestion Control" (EuroSys'25). Many strict priorities share one
// physical queue, by means of the end hosts only.
//
// Each priority has a [Channel], a range of delays; higher priorities have longer delays. A flow
// keeps the delay within its channel. A delay beyond it means that a higher priority sends: the
// flow stops, and probes until the delay is low enough. [PrioPlus] is Algorithm 1 around any
// algorithm of package cc that steers to a delay target (cc.Steerable): Swift and LEDBAT.
// [ParseChannels] reads the table of channels, and a [Spec] is an algorithm with one channel.
//
// All flows in the queue must use PrioPlus with the same table. Acknowledgements and echoes of
// probes should use a higher class.
//
// The package imports only cc and units.
package prioplus
