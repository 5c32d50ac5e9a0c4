// Package ethdev binds DPDK's Ethernet devices: attaching virtual and PCI devices to the running
// process, configuring them, and moving bursts.
//
// A frame passes here in [Port.RxBurst] and [Port.TxBurst] only, one C call per burst. All other
// functions are control and must run inside eal.Call, StatsGet and LinkGetNowait excepted, which
// any goroutine may call.
//
// The state of a device is EAL's; a Port is its number. The package imports the sibling packages
// eal, mempool, mbuf and ring.
package ethdev
