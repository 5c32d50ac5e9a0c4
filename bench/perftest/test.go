package perftest

import (
	"fmt"
	"strings"
)

// Verb is what a test does.
type Verb uint8

// The verbs.
const (
	Write Verb = iota
	Read
	Send
	Atomic
)

// Kind is what a test measures.
type Kind uint8

// The kinds.
const (
	Bandwidth Kind = iota
	Latency
)

// Test is one of the eight programs.
type Test struct {
	Verb Verb
	Kind Kind
}

// Name is the name of the program.
func (t Test) Name() string {
	verb := [...]string{"write", "read", "send", "atomic"}[t.Verb]
	kind := [...]string{"bw", "lat"}[t.Kind]
	return fmt.Sprintf("roce_%s_%s", verb, kind)
}

// oneSided says that the peer's program has nothing to do: the verb brings its own answer.
func (t Test) oneSided() bool { return t.Verb == Read || t.Verb == Atomic }

// title is perftest's heading.
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
