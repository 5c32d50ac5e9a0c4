// Package eal starts DPDK's environment abstraction layer, once per process, and keeps the OS
// thread that it needs.
//
// rte_eal_init pins the thread that calls it and gives it an lcore id. If an ordinary goroutine
// called it, that thread would return to Go's pool and run other goroutines. So the package keeps
// one goroutine locked to one OS thread, the main thread: Init and, through [Call], all control
// operations of the sibling packages run there. The log of EAL and of the drivers is captured
// during a Call, and becomes the reason in its error.
//
// No packet passes here. A goroutine that polls a port first takes a [Thread], which gives it an
// lcore id and thereby a mempool cache of its own.
//
// State: the main thread, the log buffer and "EAL has started" belong to this package; the EAL
// cannot be stopped and started again in one process. It imports nothing of goroce.
package eal
