// Package mempool makes the pools that frames live in.
//
// A pool is sized to the processor's cache: buffers are reused round robin once they pass a ring,
// so a pool larger than the cache means a cache miss per line of every frame. Each registered
// thread (see eal.Register) has a small stack of free buffers in front of the ring that all threads
// share.
//
// Without hugepages from EAL, the pool requests transparent ones from the kernel: 2047 buffers of
// 4 KiB would otherwise need more entries than the TLB has.
//
// A pool belongs to the device it was made for, and outlives it while frames are in use. The
// package imports only package eal.
package mempool
