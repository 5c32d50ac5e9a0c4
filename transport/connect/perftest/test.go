package perftest

// Verb is what a test does.
type Verb uint8

// The verbs.
const (
	Send Verb = iota
	Write
	Read
	Atomic
)

// Kind is what a test measures.
type Kind uint8

// The kinds.
const (
	Bandwidth Kind = iota
	Latency
)

// Test is what both sides run, and with it the order of the messages. The service (RC, UC, UD) does
// not matter to that.
type Test struct {
	Verb          Verb
	Kind          Kind
	Bidirectional bool // -b, of bandwidth
	All           bool // -a: all sizes
	Duration      bool // -D: for a time, not for so many iterations
}

// String is the command line of perftest's program.
func (t Test) String() string {
	s := "ib_" + [...]string{"send", "write", "read", "atomic"}[t.Verb%4] + [...]string{"_bw", "_lat"}[t.Kind%2]
	if t.Bidirectional {
		s += " -b"
	}
	if t.All {
		s += " -a"
	}
	if t.Duration {
		s += " -D"
	}
	return s
}
