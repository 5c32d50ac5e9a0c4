// Package neigh resolves the neighbours of an endpoint and makes the endpoint resolvable and
// pingable: ARP (RFC 826), the neighbour solicitation and advertisement of IPv6 (RFC 4861), and the
// echo replies of ICMP (RFC 792) and ICMPv6 (RFC 4443). It does no I/O: frames enter through
// [Table.Receive] and leave through [Table.Emit], and time is an argument.
//
// Resolution: [Table.Resolve] returns the [Entry] of the next hop at once and queues the first
// solicitation; [Table.Poll] repeats it after 1, 2, 4 … ms, and then every second. It stops a
// minute after the last query of the entry by Resolve or [Entry.MAC], and resumes with the next
// query. So an unresolved neighbour is solicited exactly as long as it is queried.
//
// Confirmation: an ARP reply or a solicited advertisement makes the entry reachable for 30 s. Then
// it is confirmed by up to three unicast probes one second apart (RFC 4861 section 7.3.3). If these
// remain unanswered, multicast probes follow at increasing intervals. A known MAC address stays in
// use until another one replaces it: the transport, which has retry limits, decides whether a peer
// is dead.
//
// Trust: the table accepts replies about entries that it has. From requests addressed to us it
// learns the sender (RFC 826 "Packet Reception", RFC 4861 section 7.2.3), up to a limit. It accepts
// nothing about our own addresses.
//
// Lifetime: an entry is kept as long as it is held ([Table.Hold]; queue pairs and address handles
// hold theirs). The others are kept in order of use, and the least recently used ones are evicted
// when the table is full ([MaxEntries]), those first that have never replied to a solicitation
// of ours. The number of these is limited, in all and per prefix ([MaxUnconfirmed]), so that forged
// addresses can neither evict neighbours that reply nor fill the table.
//
// Not implemented: duplicate address detection for our own addresses, router and prefix discovery,
// redirects, and multicast listener reports. A switch that snoops MLD must therefore flood
// solicited-node groups.
//
// A Table belongs to the goroutine of its endpoint; nothing on its steady paths allocates. The
// package imports only units and the standard library without net, os and time.
package neigh
