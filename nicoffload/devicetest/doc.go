// Package devicetest is what a driver of nicoffload has to pass: the behaviour of the boundary that
// an agent relies on, seen through a [nicoffload.Device] alone. What makes signals is up to the
// driver: a Datapath where the NIC has no pipeline of its own, packets where it has.
//
//	func TestDriver(t *testing.T) {
//		devicetest.Run(t, func(t *testing.T) devicetest.Rig { ... })
//	}
//
// Every test gets a device of its own. The package imports nicoffload, cc, units and testify.
package devicetest
