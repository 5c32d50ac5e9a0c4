// Package report parses what the programs of a cell print: perftest's tables, upstream's and ours,
// the output of ibv_rc_pingpong and rping, and the totals of our JSON document. It has no I/O and
// accepts any input. It imports units.
package report
