// Package claims defines what the lab measures: a catalogue of experiments, each with the claims
// that
// its paper makes and the condition under which our run agrees with each.
//
// The catalogue is the YAML files in catalogue/, built into the program: one file for each paper
// (prioplus, tocc, taurus, carc, bytetuning), beyond.yaml for compositions that the papers leave to
// future work, fabric.yaml for the simulator itself, and common.yaml for the definitions and
// set-ups that the others use. [Load] reads and validates it.
//
// A run of an experiment measures a [Value] for each claim. [Judge] turns the values into verdicts,
// a [Result] keeps them in a claims.json, and [Check] returns what such a file lacks or what does
// not follow from its values. An expectation is never widened to make a run pass.
//
// Beside the catalogue, verdicts/ has a file for each paper with the committed verdict on each
// claim at full and at small scale: holds, fails or not judged, and the reason. [Compare] returns
// where a result differs from them, in either direction, and [UpdateVerdicts] accepts a result. A
// claim that measures the machine that runs it is not judged.
//
// The package has no state and runs no experiment. It imports units only.
package claims
