package cc

import "github.com/goroce/goroce/units"

// Admission is what a program does with the gate and the granters of its queue pair. Without a gate
// or granter of the kind the methods do nothing.
type Admission interface {
	// Consumed reports that the program is done with a message of so many bytes that arrived: its
	// completion's ByteLen, or the length of a WRITE. Each message counts once, in any order. It
	// returns an error if more is consumed than arrived. What is never consumed becomes free when
	// the queue pair ends.
	Consumed(bytes units.Bytes) error
	// Answered reports that the program has the response, of so many bytes, to one of its messages.
	// Where request and response return the credits (CreditTerms), it returns those of that
	// message.
	Answered(bytes units.Bytes)
	// CancelWaiting takes back the work requests of which no packet has left: those that the gate
	// keeps waiting, and those behind them. They complete as flushed, in order, before the call
	// returns, and so before older ones that are outstanding. The queue pair stays usable. It
	// returns their number.
	CancelWaiting() int
}
