package cc

import "github.com/goroce/goroce/units"

// AdmissionCounts is what a Gate or a Granter counted. What does not apply to it is 0.
type AdmissionCounts struct {
	// Of tokens.
	Granted     units.Bytes // by TOKENs
	Discarded   units.Bytes // of these, by the sender: too old, or too many
	Unneeded    units.Bytes // of these, that arrived when nothing was left to send
	Unscheduled units.Bytes // sent or received without a token
	Repeats     uint64      // messages repeated for lack of a response
	Marked      uint64      // messages received with congestion experienced
	Lost        uint64      // tokens that no data returned

	// Of credits.
	Messages  uint64         // that took credits, or that were delivered
	Overdrawn uint64         // of these, larger than all credits
	Blocked   uint64         // of these, that waited
	Waited    units.Duration // together
	Queries   uint64         // sent by a gate, received by a granter
	Consumed  uint64         // messages that the program has finished with
}

// Add adds o.
func (c *AdmissionCounts) Add(o *AdmissionCounts) {
	c.Granted += o.Granted
	c.Discarded += o.Discarded
	c.Unneeded += o.Unneeded
	c.Unscheduled += o.Unscheduled
	c.Repeats += o.Repeats
	c.Marked += o.Marked
	c.Lost += o.Lost
	c.Messages += o.Messages
	c.Overdrawn += o.Overdrawn
	c.Blocked += o.Blocked
	c.Waited += o.Waited
	c.Queries += o.Queries
	c.Consumed += o.Consumed
}

// AdmissionCounter is a Gate or a Granter that shows what it counted.
type AdmissionCounter interface {
	AdmissionCounts() AdmissionCounts
}
