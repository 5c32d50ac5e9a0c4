package workload

import "github.com/goroce/goroce/units"

// Flow is one message of the traffic.
type Flow struct {
	ID    uint64      // different for every flow of a Source
	At    units.Time  // when it is posted
	Src   int         // host it comes from, from 0
	Dst   int         // host it goes to, never Src
	Bytes units.Bytes // payload, at least 1
	Group int         // coflow or round it belongs to, from 0; -1 when none
	Class int         // what the traffic's Class says; a priority, for instance
}

// Source is a stream of flows, none earlier than the one before it.
type Source interface {
	// Next answers the next flow, and false when there is none.
	Next() (Flow, bool)
}

// Reactive is a Source some of whose flows start only when others are done. Whoever drives it takes
// Next when the time of Peek has come, and after every Done looks at Peek again: then no flow comes
// earlier than the one before it. It is at its end when Peek answers false and Pending too.
type Reactive interface {
	Source
	// Peek answers when the flow starts that Next would answer, and false when that has none for
	// now.
	Peek() (units.Time, bool)
	// Done tells that a flow that Next answered has been received whole. The calls come in order of
	// time.
	Done(f Flow, at units.Time)
	// Pending says whether a Done may still bring flows.
	Pending() bool
}
