package perftest

import (
	"fmt"
	"strings"
)

// Verb is the RDMA operation of a test.
type Verb uint8

// The verbs.
const (
	Write Verb = iota
	Read
	Send
	Atomic
)

// Kind is the quantity that a test measures.
type Kind uint8

// The kinds.
const (
	Bandwidth Kind = iota
	Latency
)

// Test identifies one of the eight programs.
type Test struct {
	Verb Verb
	Kind Kind
}

// Name returns the name of the program.
func (t Test) Name() string {
	verb := [...]string{"write", "read", "send", "atomic"}[t.Verb]
	kind := [...]string{"bw", "lat"}[t.Kind]
	return fmt.Sprintf("roce_%s_%s", verb, kind)
}

// isOneSided reports whether the verb needs no program at the peer.
func (t Test) isOneSided() bool { return t.Verb == Read || t.Verb == Atomic }

// title returns perftest's heading.
func (s *Settings) title() string {
	words := []string{[...]string{"RDMA_Write", "RDMA_Read", "Send", "Atomic"}[s.Test.Verb]}
	if s.Test.Verb == Atomic {
		words = append(words, s.AtomicType.String())
	}
	if s.Bidirectional {
		words = append(words, "Bidirectional")
	}
	return strings.Join(append(words, [...]string{"BW", "Latency"}[s.Test.Kind], "Test"), " ")
}
