// Package ethdev binds DPDK's Ethernet devices: attaching virtual and PCI devices to the running
// process, configuring them, and moving bursts.
//
// A frame passes here in [Port.RxBurst] and [Port.TxBurst] only, one C call per burst. All other
// functions are control and must run inside eal.Call and, for the memif driver, eal.OnInterrupt;
// StatsGet, LinkGetNowait and Removal.Happened are excepted: any goroutine may call them.
//
// The memif driver is linked statically with corrections, which memif.c lists; all other drivers
// are EAL's plug-ins.
//
// The state of a device belongs to EAL; a Port is its number. The package imports the sibling
// packages eal, mempool, mbuf and ring.
package ethdev
