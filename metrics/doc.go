// Package metrics shows what hosts do: a [Collector] for Prometheus over one or more of them, and a
// [Server] of /metrics, /healthz, /debug/pprof and /debug/goroce, a live table of queue pairs.
// docs/metrics.md lists the metrics.
//
// A scrape copies, on each polling core, an [transport.EndpointSample], and samples of 32 queue
// pairs at a time between two rounds. Everything else happens in the goroutine that scrapes. The
// number of series does not depend on the number of queue pairs: those with the most bytes have
// series of their own, the rest are summed.
//
// The package imports the root package, cc, dpdk, nicoffload, packet, transport, transport/wire and
// units.
package metrics
