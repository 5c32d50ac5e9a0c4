// Package bytetuning finds watermarks for RoCEv2 switches by simulated annealing (Tan et al.,
// "ByteTuning: Watermark Tuning for RoCEv2", IEEE TCC 2025): Kmin, Kmax and Pmax of ECN, headroom
// and α of PFC, the same for all switches of a layer.
// A [Target] applies a [Point] (a [Watermark] for each of its layers) and returns a [Measurement].
// A [Tuner] proposes points and observes their measurements: [Anneal] is the paper's algorithm 1,
// the others are baselines for comparison. An [Objective] maps a measurement to a number (equations
// 14 and 15). A [Search] runs a tuner on a target. It applies no point that violates [Layer.Check],
// skips failed evaluations with a reason, keeps a [Log] from which it can be resumed, and always
// leaves the best measured point applied.
//
// Tuners are deterministic: the same seed and the same measurements give the same proposals. The
// log of points and measurements is therefore the whole state, and a search is resumed by replaying
// it.
//
// Subpackages: fluid (the model of section 4), intent (watermarks as YAML, and their validation),
// dialect (watermarks as configuration of seven vendors' switches), telemetry (sources of
// measurements) and live (switches over SSH and gNMI). The package imports units and fluid. Nothing
// in it takes a lock, and only Log and Search use files and contexts.
package bytetuning
