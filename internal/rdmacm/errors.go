package rdmacm

import "errors"

// Errors, which are returned wrapped.
var (
	ErrMAD     = errors.New("not a message of the communication manager")
	ErrInvalid = errors.New("invalid argument")
	ErrState   = errors.New("wrong state of the connection")
	ErrLimit   = errors.New("limit reached")
)
