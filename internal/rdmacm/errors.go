package rdmacm

import "errors"

// What can be refused. Each is wrapped with what was asked and what was wrong.
var (
	ErrMAD     = errors.New("not a message of the communication manager")
	ErrInvalid = errors.New("invalid argument")
	ErrState   = errors.New("wrong state of the connection")
	ErrLimit   = errors.New("limit reached")
)
