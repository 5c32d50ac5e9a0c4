package rpc

import (
	"context"
	"errors"
	"fmt"
)

// Code is the kind of an Error.
type Code uint32

// Codes of the package. Handlers may use further ones from CodeUser on.
const (
	codeOK         Code = iota
	CodeFailed          // a handler returned an error that is not an Error
	CodeNoMethod        // the server has no such method
	CodeDeadline        // the deadline passed at the server
	CodeCanceled        // the handler was cancelled
	CodeTooLong         // the handler's response is longer than MaxBody
	CodeOverloaded      // the server runs too many calls of the connection; not executed
	CodeUser       Code = 1000
)

// Error is the error of a call that has come back from the server. A handler that returns an Error
// chooses its Code. errors.Is finds Errors of the same Code, and the context's errors.
type Error struct {
	Code    Code
	Message string
}

// Error returns the message with its code.
func (e *Error) Error() string { return fmt.Sprintf("rpc: %s (code %d)", e.Message, e.Code) }

// Is reports whether target is an Error of the same Code, or the context's error for it.
func (e *Error) Is(target error) bool {
	if t, is := target.(*Error); is {
		return t.Code == e.Code
	}
	return e.Code == CodeDeadline && target == context.DeadlineExceeded ||
		e.Code == CodeCanceled && target == context.Canceled
}

// toError returns a handler's error as an Error.
func toError(err error) *Error {
	if e, is := errors.AsType[*Error](err); is && e.Code != codeOK {
		return e
	}
	code := CodeFailed
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code = CodeDeadline
	case errors.Is(err, context.Canceled):
		code = CodeCanceled
	}
	return &Error{code, err.Error()}
}

// CallError is the failure of a call without a response.
type CallError struct {
	Method string
	// Sent reports whether the request was handed to the connection, so that the server may have
	// executed it, or may yet do so. A call with false was not and will not be executed.
	Sent bool
	Err  error // the cause
}

// Error describes the method, the cause, and whether the call may have been executed.
func (e *CallError) Error() string {
	if e.Sent {
		return fmt.Sprintf("rpc: %s: may have been executed, no response: %v", e.Method, e.Err)
	}
	return fmt.Sprintf("rpc: %s: not sent: %v", e.Method, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// ErrTooLong is the cause of a CallError for a request that is too long, or whose name is.
var ErrTooLong = fmt.Errorf("want a method of 1 to %d bytes and a request of at most %d", MaxMethod,
	MaxBody)
