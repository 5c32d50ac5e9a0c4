// Package exchange tests whether claims discriminate. A claim that compares two schemes is vacuous
// if it holds as well with the results of the two exchanged. [Test] judges claims again with
// exchanged results, and simulates nothing.
//
// What can be exchanged follows from names. Cells "PrioPlus, 2", "PrioPlus, 8", "Swift, 2" and
// "Swift, 8" differ in PrioPlus and Swift, which are exchanged in both pairs at once, and in 2 and
// 8. The values and series of a cell, such as "rate on" and "rate off", are treated alike.
//
// An exchange tests a claim only if the claim compares what is exchanged: its value depends on
// both sides, and exchanging them changes it. That is decided with data in which every cell and
// name differs, not with the results, so that two schemes with the same results are not taken for
// a claim that compares nothing. A bound on each of several cells, or on the largest of them, does
// not compare them. A claim discriminates if it fails after at least one of the exchanges that
// test it.
//
// The package imports claims and experiment.
package exchange
