// Package workload generates the traffic of a simulated fabric and evaluates its completion times.
//
// Traffic is a stream of [Flow]s: time, source, destination, bytes. A [Source] returns them in
// order of time; equal seeds give equal flows. The flows of [Poisson], [Incast], [AllToAll],
// [Permutation] and [Coflows] do not depend on completions. A [RingAllReduce] is [Reactive]: a flow
// may start only when an earlier one has completed. [Merge] combines several Sources. Hosts are
// indices from 0.
//
// A [List] is given flow by flow, or read from a CSV ([ParseList]). A [Graph] is flows and delays
// that wait for others, given task by task or read from a connection matrix of htsim
// ([ParseMatrix]).
//
// Flow sizes are drawn from a [Distribution]: a published one by name ([ByName]), a table
// ([ParseSizes]), [Fixed] or [Uniform]. The same type describes the numbers of mappers and reducers
// of coflows and the noise of delay measurements ([DelayNoise]).
//
// A completed flow is a [Result]. [Summarize] returns completion times and slowdowns by size class,
// [Groups] the completion of whole coflows and rounds.
//
// The package reads no clock, starts no goroutine and seeds all random number generators. It
// imports only units.
package workload
