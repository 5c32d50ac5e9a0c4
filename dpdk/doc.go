// Package dpdk opens ports to the real world: virtual and physical devices driven by DPDK in poll
// mode, each named by a URL that every program of goroce understands (see [ParseURL]).
//
// The path of a frame: [Queue.Alloc] takes mbufs from the device's pool, the transport writes into
// them, [Queue.Send] hands them to the driver; [Queue.Recv] answers what the driver received, in
// place, and [Queue.Free] gives it back to the pool. Each is one C call for a burst of up to 64,
// and none allocates.
//
// Who owns what: EAL and its main thread are one per process and started by the first [Open]. A
// [Device] owns its mbuf pool, sized to the cache on purpose; a [Queue] is a packet.Port and
// belongs to the one goroutine that polls it, which calls [Register] first. What all devices share
// (the ends of loop: pairs, pools that outlive their device) is touched on EAL's main thread
// alone, which serves as its lock; control of a memif is on EAL's interrupt thread while the main
// thread waits.
//
// When a port's hardware is removed, its Queues stop calling the driver, Stats and Link return
// [ErrRemoved], and [Device.Removed] is closed. EAL reports it to a C function, which sets a flag
// that is read before each burst; a burst that has begun by then is not waited for, since some
// drivers report from within one.
//
// Only this package and those below it import "C". It imports packet and units, and knows nothing
// of transport.
package dpdk
