// Package labtest provides a catalogue of two small experiments, and the code of one, for tests of
// the packages around it.
package labtest
