// Command chaos runs campaigns against the parts of goroce that share memory and sockets with other
// processes: ports that both processes close at once, counters that are read while a port closes,
// hosts that open, connect and close over and over, peers that are killed, hosts that strangers
// flood. docs/chaos.md says what each shows.
//
// Every campaign is a file with a campaign value (campaign.go) that it registers. It runs in a
// process of its own, because the failure it looks for is a crash; most start another one as the
// peer (peer.go). A campaign holds when all rounds did what they should, and the processes have as
// many descriptors and goroutines, and as much memory, as soon after their begin (flat.go).
package main
