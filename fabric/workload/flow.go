package workload

import "github.com/goroce/goroce/units"

// Flow is a message of the traffic.
type Flow struct {
	ID    uint64      // unique within a Source
	At    units.Time  // time of posting
	Src   int         // sending host, from 0
	Dst   int         // receiving host, not Src
	Bytes units.Bytes // payload, at least 1
	Group int         // coflow or round, from 0; -1 for none
	Class int         // Class of the traffic, such as a priority
}

// Source is a stream of flows in order of time.
type Source interface {
	// Next returns the next flow, or false if there is none.
	Next() (Flow, bool)
}

// Reactive is a Source some of whose flows start only after others have completed. The caller must
// call Next at the time that Peek returns, and call Peek again after every Done; flows then come in
// order of time. The stream has ended when Peek and Pending both return false.
type Reactive interface {
	Source
	// Peek returns the start of the flow that Next would return, or false if there is none at
	// present.
	Peek() (units.Time, bool)
	// Done reports that a flow from Next has been received completely. Calls must be in order of
	// time.
	Done(f Flow, at units.Time)
	// Pending reports whether a Done may still release flows.
	Pending() bool
}
