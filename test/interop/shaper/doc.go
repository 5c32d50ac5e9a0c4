// Package shaper is a wire that misbehaves: it forwards frames between two network interfaces, and
// from a seed loses, repeats, delays and damages those of RoCEv2, or marks them as a congested
// switch does (congestion.go), and answers the marks, where the receiver does not (notify.go). All
// others, so ARP, neighbour discovery and every handshake over TCP, pass as they are.
//
// A frame is read from one end, goes through its direction (direction.go), which says what leaves
// at the other, and is written there. Each direction has a goroutine, and a source of randomness of
// its own: the same frames in the same order have the same fate. It is for the rates of an emulated
// peer, tens of thousands of frames a second. It imports nothing of ours; its tests have
// transport/wire check what it makes.
package shaper
