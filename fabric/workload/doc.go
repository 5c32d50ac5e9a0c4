// Package workload makes the traffic of a simulated fabric and measures what became of it.
//
// Traffic is a stream of [Flow]s: time, source, destination, bytes. A [Source] answers them one by
// one, in order of time, the same for the same seed. [Poisson], [Incast], [AllToAll], [Permutation]
// and [Coflows] know all their flows in advance; a [RingAllReduce] is [Reactive]: it has to be told
// when a flow is done before it answers the next. [Merge] makes one Source of many. Hosts are
// numbers from 0; what they stand for is the fabric's business.
//
// Flow sizes come from a [Distribution]: a published table by name ([ByName]), a user's own
// ([ParseSizes]), or [Fixed] and [Uniform]. The same type holds how many mappers and reducers a
// coflow has, and the noise of delay measurements ([DelayNoise]).
//
// A flow that is done becomes a [Result]; [Summarize] sorts Results by size and answers completion
// times and slowdowns, [Groups] those of whole coflows and rounds.
//
// Nothing here reads a clock, starts a goroutine or draws from a source of randomness that is not
// seeded. The package imports only units.
package workload
