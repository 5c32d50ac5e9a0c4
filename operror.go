package goroce

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport"
)

// OpError is the failure of an operation of a Conn. errors.Is finds its Status and its cause in it:
// ErrClosed, io.EOF, transport.ErrInvalid, the context's error, and others.
type OpError struct {
	Op   transport.Op
	Peer netip.Addr
	// Status is that of the completion, StatusSuccess if there was none.
	Status transport.Status
	// State is the state of the queue pair when the operation completed, if it did.
	State transport.State
	// Withdrawn reports whether the operation never began: nothing of it was sent. Otherwise the
	// peer may have executed it, or may yet do so, and its local memory may still be in use.
	Withdrawn bool
	// Err is the cause; nil if it is the Status.
	Err error
}

// Error describes the operation, the peer and what was wrong.
func (e *OpError) Error() string {
	what := fmt.Sprintf("goroce: %v to %v: ", e.Op, e.Peer)
	switch {
	case e.Status == transport.StatusSuccess && e.Err != nil:
		return what + e.Err.Error()
	case e.Err != nil:
		return fmt.Sprintf("%s%v, queue pair in state %v: %v", what, e.Status, e.State, e.Err)
	}
	return fmt.Sprintf("%s%v, queue pair in state %v", what, e.Status, e.State)
}

// Unwrap returns the cause and the Status.
func (e *OpError) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	if e.Status != transport.StatusSuccess {
		errs = append(errs, e.Status)
	}
	return errs
}
