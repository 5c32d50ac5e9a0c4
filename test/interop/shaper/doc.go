// Package shaper is an impaired wire: it forwards frames between two network interfaces and, from a
// seed, loses, duplicates, delays and corrupts RoCEv2 packets, or marks them as a congested switch
// does (congestion.go) and responds to the marks if the receiver does not (notify.go). All other
// frames, such as ARP, neighbour discovery and TCP handshakes, pass unchanged.
//
// A frame is read from one end, goes through its direction (direction.go), which determines what
// leaves at the other end, and is written there. Each direction has a goroutine and a random number
// generator of its own: the same frames in the same order have the same result. The package is fast
// enough for an emulated peer, tens of thousands of frames per second. It imports no package of
// this module; its tests verify its frames with transport/wire.
package shaper
