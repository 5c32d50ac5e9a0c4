package perftest

// Verb is the operation of a test.
type Verb uint8

// The verbs.
const (
	Send Verb = iota
	Write
	Read
	Atomic
)

// Kind is the quantity that a test measures.
type Kind uint8

// The kinds.
const (
	Bandwidth Kind = iota
	Latency
)

// Test is the test that both sides run. It determines the order of messages, which does not depend
// on the service (RC, UC, UD).
type Test struct {
	Verb          Verb
	Kind          Kind
	Bidirectional bool // -b, bandwidth only
	All           bool // -a: all sizes
	Duration      bool // -D: run for a time instead of a number of iterations
	CM            bool // -R: handshake and connections use the RDMA CM
}

// String returns the command line of perftest's program.
func (t Test) String() string {
	s := "ib_" + [...]string{"send", "write", "read", "atomic"}[t.Verb%4] + [...]string{"_bw",
		"_lat"}[t.Kind%2]
	if t.Bidirectional {
		s += " -b"
	}
	if t.All {
		s += " -a"
	}
	if t.Duration {
		s += " -D"
	}
	if t.CM {
		s += " -R"
	}
	return s
}

// encode returns the message that carries keys.
func (t Test) encode(d Destination) ([]byte, error) {
	if t.CM {
		return d.EncodeCM()
	}
	return d.Encode()
}

// decode decodes a message that carries keys.
func (t Test) decode(b []byte) (Destination, error) {
	if t.CM {
		return DecodeDestinationCM(b)
	}
	return DecodeDestination(b)
}
