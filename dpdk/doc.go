// Package dpdk opens ports to the real world: virtual and physical devices driven by DPDK in poll
// mode, each named by a URL that every program of goroce understands (see [ParseURL]).
//
// The path of a frame: [Queue.Alloc] takes mbufs from the device's pool, the transport writes into
// them, [Queue.Send] passes them to the driver; [Queue.Recv] returns what the driver received,
// without a copy, and [Queue.Free] gives it back to the pool. Each is one C call for a burst of up
// to 64 frames, and none allocates.
//
// Ownership: EAL and its main thread exist once per process and are started by the first [Open]. A
// [Device] owns its mbuf pool, which is sized to the cache; a [Queue] is a packet.Port and belongs
// to the one goroutine that polls it, which calls [Register] first. State that all devices share
// (the ends of loop: pairs, pools that outlive their device) is accessed on EAL's main thread only,
// which takes the place of a lock; a memif is controlled on EAL's interrupt thread while the main
// thread waits.
//
// When a port's hardware is removed, its Queues stop calling the driver, Stats and Link return
// [ErrRemoved], and [Device.Removed] is closed. EAL reports the removal to a C function, which sets
// a flag that is read before each burst. It does not wait for a burst in progress, since some
// drivers report from within one.
//
// Only this package and those below it import "C". It imports packet and units, and not transport.
package dpdk
