package transport

import "errors"

// Errors of the verbs. Each is wrapped with the operation and what was wrong. An operation that a
// kind of queue pair does not support returns errors.ErrUnsupported.
var (
	ErrInvalid   = errors.New("invalid argument")
	ErrState     = errors.New("wrong queue pair state")
	ErrQueueFull = errors.New("queue full")
	ErrLimit     = errors.New("limit reached")
	ErrBusy      = errors.New("still in use")
)
