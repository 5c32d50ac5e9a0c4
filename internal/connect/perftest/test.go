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
	CM            bool // -R: the handshake and the connections go over the RDMA CM
}

// String is the command line of perftest's program.
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

// encode makes the message that carries keys.
func (t Test) encode(d Destination) ([]byte, error) {
	if t.CM {
		return d.EncodeCM()
	}
	return d.Encode()
}

// decode reads a message that carries keys.
func (t Test) decode(b []byte) (Destination, error) {
	if t.CM {
		return DecodeDestinationCM(b)
	}
	return DecodeDestination(b)
}
