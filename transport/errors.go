package transport

import "errors"

// The errors of the verbs, each wrapped with the operation and its cause. An operation that a kind
// of queue pair does not have returns errors.ErrUnsupported.
var (
	ErrInvalid   = errors.New("invalid argument")
	ErrState     = errors.New("wrong queue pair state")
	ErrQueueFull = errors.New("queue full")
	ErrLimit     = errors.New("limit reached")
	ErrBusy      = errors.New("still in use")
)
