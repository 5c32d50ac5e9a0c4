// Command chaos runs campaigns against the parts of goroce that share memory and sockets with other
// processes: ports that both processes close at once, counters that are read while a port closes,
// hosts that open, connect and close repeatedly, peers that are killed, and hosts under floods.
// docs/chaos.md describes what each campaign tests.
//
// Every campaign is a file that registers a campaign value (campaign.go). It runs in a process of
// its own, because the failures it looks for include crashes; most campaigns start another process
// as the peer (peer.go). A campaign passes if all rounds succeed and if descriptors, goroutines and
// memory of the processes do not grow after the first rounds (usage.go).
package main
