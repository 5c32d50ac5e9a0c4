// Package eventlog generates random events of flows: every kind, with every signal that the kind
// can have, as a transport would report them. It serves to compare two implementations of event
// processing. It imports cc and units.
package eventlog
