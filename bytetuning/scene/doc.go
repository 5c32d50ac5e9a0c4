// Package scene has the scenarios of ByteTuning's experiments as targets of a tuner: hosts with
// DCQCN endpoints of our transport around the fabric's switches, which get the tried watermark.
// Each measurement is a simulation of its own, of an empty network at first, with the same seed:
// the same watermark gives the same measurement.
//
//	t, err := scene.New("2to1")
//
// The package imports bytetuning, bytetuning/telemetry and sim, and what these import.
package scene
