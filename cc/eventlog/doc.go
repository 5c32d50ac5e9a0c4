// Package eventlog draws what could happen to flows: events of every kind with every signal that
// the kind can have, as a transport would report them, for whoever compares two ways of hearing the
// same. It imports cc and units.
package eventlog
