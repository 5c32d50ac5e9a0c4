// Package bytetuning finds watermarks for RoCEv2 switches by simulated annealing (Tan et al.,
// "ByteTuning: Watermark Tuning for RoCEv2", IEEE TCC 2025): Kmin, Kmax and Pmax of ECN, headroom
// and α of PFC, the same for all switches of a layer.
//
// A [Target] takes a [Point] (a [Watermark] for each of its layers) and answers a [Measurement]. A
// [Tuner] proposes points and hears what they measured: [Anneal] is the paper's algorithm 1, others
// are what it is compared with. An [Objective] makes a number of a measurement (equations 14 and
// 15). A [Search] brings them together: it applies no point that breaks a rule of [Layer.Check],
// skips what fails and says why, keeps a [Log] from which it can go on, and always ends on the best
// point that it knows to work.
//
// Tuners are deterministic: the same seed and the same answers, the same proposals. That is why a
// log of points and measurements is all the state there is; going on means to play it again.
//
// Below are fluid (the model of section 4), intent (what an operator wants of a switch, as YAML,
// and what is wrong with it), dialect (the same as configuration of six vendors' switches),
// telemetry (where measurements come from) and live (switches over SSH and gNMI). The package
// imports units and fluid. Nothing in it takes a lock, and only Log and Search touch files and
// contexts.
package bytetuning
