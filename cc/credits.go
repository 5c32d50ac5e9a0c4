package cc

import (
	"errors"

	"github.com/goroce/goroce/units"
)

// Why a Notice is void.
var (
	// ErrOtherKind is of a Notice that this Gate, or Granter, does not hear; another one of the flow may.
	ErrOtherKind = errors.New("cc: a notice of another kind")
	// ErrForged is of a peer that claims more than it was given. No loss or delay does that: the connection is to end.
	ErrForged = errors.New("cc: the peer claims more than it was given")
)

// Crediter is what a Granter is besides that gives credits (CARC, APNet '25, section 4). Its CREDITs ride on
// acknowledgements, and neither take their time from a link nor wait with TOKENs: so Emit and Next are not for them.
type Crediter interface {
	// Delivered says that the program got the completion of a message of so many bytes. Granter.Consumed ends it.
	Delivered(bytes units.Bytes, now units.Time)
	// Credit answers the CREDIT to send, and false when it would say nothing new. It may be asked whenever an
	// acknowledgement leaves.
	Credit(now units.Time) (Notice, bool)
	// CreditAt is when the CREDIT is to leave by itself; 0 never.
	CreditAt() units.Time
}

// Debtor is what a Gate is besides whose messages are returned by the peer's responses.
type Debtor interface {
	// Answered says that a response came. It answers nil, or why that cannot be.
	Answered(a *Answer, now units.Time) error
}

// Answer is a response, as who sent the request sees it.
type Answer struct {
	Request units.Bytes // length of the request that it answers
	// Latency is from the request's first packet to the response; 0 unknown.
	Latency units.Duration
	// Waited and Served are how long the request was at the peer before its program began with it, and until the
	// response was posted; Served is 0 where the peer does not say.
	Waited, Served units.Duration
}
