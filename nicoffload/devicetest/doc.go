// Package devicetest is the conformance suite for drivers of nicoffload. It tests the behaviour
// that an agent relies on, through a [nicoffload.Device] alone. The driver provides the source of
// signals: a Datapath where the NIC has no pipeline of its own, otherwise packets.
//
//	func TestDriver(t *testing.T) {
//		devicetest.Run(t, func(t *testing.T) devicetest.Rig { ... })
//	}
//
// Every test gets its own device. The package imports nicoffload, cc, units and testify.
package devicetest
