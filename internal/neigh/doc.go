// Package neigh lets a plain host find an endpoint, and the endpoint its neighbours: ARP (RFC 826),
// the neighbour solicitation and advertisement of IPv6 (RFC 4861), and the echo replies of ICMP
// (RFC 792) and ICMPv6 (RFC 4443). It does no I/O: frames go in through [Table.Receive] and come
// out of [Table.Emit], time comes in as an argument.
//
// The path of a question: [Table.Resolve] answers the [Entry] of the next hop at once and queues
// the first solicitation; [Table.Poll] repeats it after 1, 2, 4 … ms, and then every second. It
// does so for a minute after someone last asked for the entry by Resolve or [Entry.MAC], and goes
// on when someone asks again: an unresolved neighbour is never given up while it is wanted, and
// never shouted for when it is not.
//
// The path of an answer: an ARP reply or a solicited advertisement makes the entry reachable for
// 30 s. Then it is confirmed by up to three unicast probes a second apart (RFC 4861 section
// 7.3.3), and when these stay unanswered by multicast ones, ever rarer. A MAC address once known
// is in use until another one replaces it: to decide that a peer is dead is the transport's
// business, which has retry limits for that.
//
// Whom we believe: answers about entries we have; requests that are addressed to us, whose sender
// we may add (RFC 826 "Packet Reception", RFC 4861 section 7.2.3), in a limited number; nothing
// about our own addresses.
//
// How long an entry lives: as long as somebody holds it ([Table.Hold]; queue pairs and address
// handles do). The others are kept in the order of their use, and the oldest ones make room
// ([MaxEntries]): first those that have never answered a question of ours. Of these there are never
// many, in all or of one prefix ([MaxUnconfirmed]), so that nobody who invents addresses can push
// out neighbours that answer, or take the last place.
//
// What is left out: duplicate address detection for ourselves, router and prefix discovery,
// redirects, and multicast listener reports: a switch that snoops MLD must flood solicited-node
// groups.
//
// A Table belongs to the goroutine of its endpoint; nothing on its steady paths allocates. The
// package imports only units and the standard library without net, os and time.
package neigh
