// Package report reads what the programs of a cell print: perftest's tables, upstream's and ours,
// the lines of ibv_rc_pingpong and rping, and the totals of our JSON document. It is pure, and
// takes whatever it is given. It imports units.
package report
