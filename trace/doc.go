// Package trace is the event log of queue pairs: typed events after qlog's principles
// (draft-ietf-quic-qlog-main-schema), and the ring into which a polling core records them.
//
// The schema is in one file, schema.go: every event has a category, a name and fields with units.
// An [Event] is a value of fixed size. A [Ring] takes them from one goroutine without a lock, a
// system call or an allocation, and another goroutine takes them out. An event that finds the ring
// full is counted, and the count is part of the log. Package sqlog writes rings to files.
//
// Events of single packets can be sampled by PSN, see [Ring.Samples]: both ends, and all events of
// a packet, choose the same packets. They carry cumulative counts of packets and bytes, so that
// rates are exact in a sampled log. Rare events (losses, retransmissions, NAKs, notifications,
// changes of state) are not sampled.
package trace
