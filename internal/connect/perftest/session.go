package perftest

import (
	"context"
	"fmt"
	"net"
	"slices"
)

// Session is one side of a test against perftest. Client and server call, in this order:
//
//	Connect or Accept   exchange page size, cache line and path MTU
//	Barrier             with -R: before the queue pairs are connected, and once more after
//	Exchange            exchange the queue pairs; then bring the local ones to RTS
//	Connected           the queue pairs of both sides can receive
//	for each size:      post receives
//	    Ready           both sides have posted them; then run the traffic of the size
//	    Done            exchange reports, if the test has them
//	Finish              then close the connection
//
// The order is the same for every test: a step without a message in the test returns at once. A
// server without traffic of its own (one-directional WRITE, READ and atomics) proceeds to Done and
// Finish, which wait for the client. After an error every further call returns that error.
type Session struct {
	// Agreed holds the parameters that both sides use, with the peer's version and mark.
	Agreed Hello
	// Native reports that the peer's version and mark equal ours: the peer is a goroce program,
	// with which the caller can use another protocol. Only the version has been exchanged then, and
	// only Rest may be called.
	Native bool

	wire         exchanger
	mine, theirs []Destination
}

// Connect starts a session as the client. The caller opens and closes conn: TCP, or with -R a
// connection that sends each Write as a SEND of the control queue pair. ib_write_bw sleeps for a
// second before its first message.
func Connect(ctx context.Context, conn net.Conn, t Test, mine Hello) (*Session, error) {
	return handshake(ctx, newExchanger(conn, true, t), mine)
}

// Accept starts a session as the server.
func Accept(ctx context.Context, conn net.Conn, t Test, mine Hello) (*Session, error) {
	return handshake(ctx, newExchanger(conn, false, t), mine)
}

func handshake(ctx context.Context, wire exchanger, mine Hello) (*Session, error) {
	if t := wire.test; t.Verb > Atomic || t.Kind > Latency || t.Kind == Latency && t.Bidirectional {
		return nil, fmt.Errorf("perftest: unknown test %s", t)
	}
	message, err := mine.Encode()
	if err != nil {
		return nil, err
	}
	s := &Session{wire: wire}
	if mine.Mark != "" {
		s.wire.nativePrefix = message[:versionLen]
	}
	var theirs Hello
	for i, part := range helloParts {
		if err := s.wire.trade(ctx, part.name, message[:part.len], func(b []byte) error {
			return part.decode(&theirs, b)
		}); err != nil {
			return nil, err
		}
		message = message[part.len:]
		if i == 0 && s.wire.isNative {
			s.Agreed, s.Native = theirs, true
			return s, nil
		}
	}
	s.Agreed = mine.merge(theirs)
	return s, nil
}

// Rest returns what a Native peer has sent after its version.
func (s *Session) Rest() []byte { return s.wire.Unread() }

// Barrier waits, with -R, until the peer reaches the same barrier: before and after the RDMA CM
// connects the queue pairs of the test. The messages are zero keys.
func (s *Session) Barrier(ctx context.Context) error {
	if !s.wire.test.CM {
		return nil
	}
	return s.wire.trade(ctx, "zero keys", make([]byte, cmDestinationLen),
		func(b []byte) error {
			d, err := DecodeDestinationCM(b)
			if err == nil && d.QPN != 0 {
				err = s.mismatch("keys of QPN %#x: want zero keys before its connection", d.QPN)
			}
			return err
		})
}

// Exchange sends our queue pairs and returns the same number of the peer's, in the same order. All
// GIDs of both sides must be IPv4, or all IPv6, except with -R.
func (s *Session) Exchange(ctx context.Context, mine []Destination) ([]Destination, error) {
	if len(mine) == 0 {
		return nil, fmt.Errorf("perftest: no queue pairs to exchange: want at least one")
	}
	s.mine, s.theirs = slices.Clone(mine), nil
	order := s.allQPs()
	if s.wire.test.Kind == Latency && s.wire.test.Verb != Send {
		order = append([]int{0}, order...)
	}
	if err := s.keys(ctx, order...); err != nil {
		return nil, err
	}
	return slices.Clone(s.theirs), nil
}

// Connected signals that our queue pairs can receive and waits until the peer's can.
func (s *Session) Connected(ctx context.Context) error {
	if s.wire.test.Verb == Send {
		return s.keys(ctx, append([]int{0}, s.allQPs()...)...)
	}
	return s.keys(ctx, append(s.allQPs(), 0)...)
}

// allQPs returns the indices of all queue pairs.
func (s *Session) allQPs() []int {
	order := make([]int, len(s.mine))
	for i := range order {
		order[i] = i
	}
	return order
}

// Ready waits until the peer is ready for the traffic of the next size, if the test requires it:
// for SEND, where the peer must have posted receives, and for bidirectional tests.
func (s *Session) Ready(ctx context.Context) error {
	if s.wire.test.Verb == Send || s.wire.test.Bidirectional {
		return s.keys(ctx, 0)
	}
	return nil
}

// Done ends the traffic of a size and sends our report of it. It returns the peer's report if the
// test exchanges them and the peer measured something. With -b both sides report, except for SEND
// with -D. In one-directional WRITE, READ and atomic tests the client reports the last size to the
// server; the server's report is ignored.
func (s *Session) Done(ctx context.Context, mine Report, last bool) (theirs *Report, err error) {
	var before, reports, after bool // messages of this test
	switch t := s.wire.test; {
	case t.Kind == Latency:
	case t.Verb == Send:
		reports, after = t.Bidirectional && !t.Duration, t.All
	case t.Bidirectional:
		before, reports = t.All, true
	default:
		before, reports = last, last
	}
	if before {
		if err := s.keys(ctx, 0); err != nil {
			return nil, err
		}
	}
	if reports {
		if theirs, err = s.report(ctx, mine); err != nil {
			return nil, err
		}
	}
	if after {
		if err := s.keys(ctx, 0); err != nil {
			return nil, err
		}
	}
	if s.wire.client && !s.wire.test.Bidirectional {
		return nil, nil // the server measured nothing
	}
	return theirs, nil
}

// Finish ends the test. The connection cannot be used afterwards.
func (s *Session) Finish(ctx context.Context) error {
	if s.wire.test.Verb == Write && s.wire.test.Kind == Latency {
		return nil
	}
	if err := s.keys(ctx, 0); err != nil {
		return err
	}
	if !s.wire.test.CM {
		s.wire.farewell(ctx)
	}
	return nil
}

// keys exchanges queue pairs of both sides in the given order. Repeated keys of the peer must equal
// the first ones; these messages are barriers.
func (s *Session) keys(ctx context.Context, order ...int) error {
	for _, i := range order {
		if i >= len(s.mine) {
			return fmt.Errorf("perftest: no queue pairs: want Exchange first")
		}
		message, err := s.wire.test.encode(s.mine[i])
		if err != nil {
			return err
		}
		err = s.wire.trade(ctx, fmt.Sprintf("keys of queue pair %d", i), message,
			func(b []byte) error {
				d, err := s.wire.test.decode(b)
				if err != nil {
					return err
				}
				return s.checkDestination(i, d)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkDestination stores the peer's queue pair i, or compares it with the stored one.
func (s *Session) checkDestination(i int, d Destination) error {
	if i < len(s.theirs) {
		if known := s.theirs[i]; d != known {
			return s.mismatch("queue pair %d was QPN %#x PSN %#x rkey %#x, now QPN %#x PSN "+
				"%#x rkey %#x; want -q %d on the peer",
				i, known.QPN, known.PSN, known.RKey, d.QPN, d.PSN, d.RKey, len(s.mine))
		}
		return nil
	}
	if !s.wire.test.CM && d.GID.Is4() != s.mine[i].GID.Is4() {
		return s.mismatch("remote GID %s, local GID %s: want both IPv4 or both IPv6 (-x)", d.GID,
			s.mine[i].GID)
	}
	for k, other := range s.theirs {
		if other.QPN == d.QPN {
			return s.mismatch("queue pairs %d and %d have the same QPN %#x; want -q %d on the "+
				"peer",
				k, i, d.QPN, len(s.mine))
		}
	}
	s.theirs = append(s.theirs, d)
	return nil
}

func (s *Session) mismatch(format string, args ...any) error {
	return fmt.Errorf("perftest: %s: %w", fmt.Sprintf(format, args...), s.wire.mismatch())
}

// report exchanges reports, one number per message.
func (s *Session) report(ctx context.Context, mine Report) (*Report, error) {
	message := mine.Encode()
	var body []byte
	for _, part := range reportParts {
		err := s.wire.trade(ctx, "report of the "+part, message[len(body):][:8],
			func(b []byte) error {
				body = append(body, b...)
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	theirs, err := DecodeReport(body)
	return &theirs, err
}
