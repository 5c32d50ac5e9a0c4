// Package scene has the scenes of ByteTuning's experiments as targets of a tuner: hosts with DCQCN
// endpoints of our own transport around the fabric's switches, which get the watermark that is
// tried. Each measurement is a simulation of its own, from an empty network, with the same seed:
// the same watermark measures the same.
//
//	t, err := scene.New("2to1")
//
// The package imports bytetuning, bytetuning/telemetry and sim, and what these stand on.
package scene
