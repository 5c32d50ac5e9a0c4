// Package faults makes calls into DPDK and the C library fail, one at a time, and counts the
// resources that EAL holds, so that a test can find what a failure leaves behind. Importing it puts
// its functions between DPDK's libraries and the originals in the whole process, so only tests may
// import it. It lives below dpdk because all cgo does.
//
// [Arm] selects the call that fails: the n-th of those that follow. [Disarm] returns its name.
package faults
