// Package faults makes calls into DPDK and the C library fail, one at a time, and counts what EAL
// has, so that tests can find out what a failure leaves behind. Importing it puts its functions
// between DPDK's libraries and the originals, in the whole process: nothing but tests may.
//
// [Arm] chooses the call that fails: the n-th of those that follow. [Disarm] tells which it was.
package faults
