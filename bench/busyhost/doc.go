// Command busyhost measures the transport on a machine that other programs load as well, and
// compares the results with bars: see --help, and docs/hosts.md for how to read the table.
//
// A [cell] is a row of the table: one figure and one bar. Most cells compare two trials. A [trial]
// is a program of perftest's with its flags, in a [place]: both CPUs without other load, both with
// a busy loop on the second, the first CPU only, or a control group with half a CPU. The trials of
// a cell run in turn, in reversed order every other round, and their medians are compared, so that
// other load affects both alike.
//
// Every run has a deadline. On expiry the run is killed with its process group, and its cell fails.
//
// The program starts itself for two tasks: "busyhost spin" is the busy loop, "busyhost within"
// enters a place (affinity, control group) and then executes the program under test.
package main
