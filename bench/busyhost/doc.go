// Command busyhost measures what the transport does on a machine that other programs load as well,
// and judges it against bars: see --help, and docs/hosts.md for how to read the table.
//
// A [cell] is a row of the table: one figure and one bar. Most compare two trials. A [trial] is a
// program of perftest's with its flags, in a [place]: both CPUs with nothing beside it, both with a
// busy loop on the second, the first CPU only, or a control group with half a CPU. The trials of a
// cell run in turns, in reversed order every other round, and the medians are compared, so that
// what else happens on the machine meets both.
//
// Every run has a deadline. What does not end in it is killed with its process group, and fails its
// cell.
//
// The program starts itself for two tasks: "busyhost spin" is the busy loop, "busyhost within"
// enters a place (affinity, control group) and then executes the program under test.
package main
