// Package claims holds what the lab measures: a catalogue of experiments, each with the claims that
// its paper makes and the condition under which our run of it agrees.
//
// The catalogue is the YAML files in catalogue/, built into the program: one file for each paper
// (prioplus, tocc, taurus, carc, bytetuning), beyond.yaml for compositions that the papers leave to
// future work, fabric.yaml for the simulator itself, and common.yaml for the definitions and
// set-ups that the others use. [Load] reads and checks it.
//
// A run of an experiment measures a [Value] for each claim. [Judge] turns the values into verdicts,
// a [Result] keeps them in a claims.json, and [Check] tells whether such a file is complete and
// follows from its values. An expectation is never widened to make a run pass: a claim that fails
// stays in the file with a note.
//
// The package has no state. Of ours it imports units only; it runs no experiment.
package claims
