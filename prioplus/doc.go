// Package prioplus is virtual priority: PrioPlus of Zhang et al., "Enabling Virtual Priority in
// Data Center Congestion Control" (EuroSys'25). Many strict priorities share one physical queue, by
// what end hosts do alone.
//
// Each priority has a [Channel], a range of delays, higher ones for higher priorities. A flow keeps
// the delay in its channel; beyond it, somebody of a higher priority sends, and the flow stops and
// probes until the delay is low enough. [PrioPlus] is Algorithm 1 around any algorithm of package
// cc that steers to a delay target (cc.Steerable): Swift and LEDBAT. [ParseChannels] reads the
// table of channels, and [Spec] is one flow's share of it.
//
// Everybody in the queue must use it, with the same table. Acknowledgements and echoes of probes
// should ride a higher class.
//
// The package imports cc and units only.
package prioplus
