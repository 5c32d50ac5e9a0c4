// Package eal starts DPDK's environment abstraction layer, once per process, and keeps the OS
// thread that it needs.
//
// rte_eal_init pins the thread that calls it and gives it an lcore id. Called from an ordinary
// goroutine, that thread would go back to Go's pool and run anybody's code. So the package owns
// one goroutine locked to one OS thread for ever, the main thread: Init runs there, and so does
// every control operation of the sibling packages, through [Call]. What EAL and the drivers log
// during a Call is captured, and becomes the reason in the error when it fails.
//
// No packet passes here. A goroutine that polls a port takes a [Thread] first, so that it has an
// lcore id and with it a mempool cache of its own.
//
// State: the main thread, the log buffer and "EAL has started" belong to this package; the EAL
// cannot be stopped and started again in one process. It imports nothing of goroce.
package eal
