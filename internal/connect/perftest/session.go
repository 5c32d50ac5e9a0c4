package perftest

import (
	"context"
	"fmt"
	"net"
	"slices"
)

// Session is one side of a test against a perftest. Both sides of ours call, in this order,
//
//	Connect or Accept   and know page size, cache line and path MTU
//	Barrier             with -R: before the queue pairs are connected, and once more after
//	Exchange            and know the peer's queue pairs; now bring the own ones to RTS
//	Connected           both sides' queue pairs can receive
//	for each size:      post receives
//	    Ready           both sides have; now the traffic of the size
//	    Done            and know the peer's report, if it makes one
//	Finish              and close the connection
//
// whatever the test is: a step that the test has no message for returns at once. A server that only
// answers (of one-directional WRITE, READ and atomics) goes on to Done and Finish without traffic
// of its own, and waits there until the client has done. What has failed stays so.
type Session struct {
	// Agreed is what both sides can do, with the peer's version and mark.
	Agreed Hello
	// Kin says that the peer's version and mark are ours: no perftest, but a program like this one,
	// with which other words are to be had. Nothing but the version has been exchanged then, and no
	// other method may be called but Rest.
	Kin bool

	wire         exchanger
	mine, theirs []Destination
}

// Connect is the client's greeting over a connection that the caller has made, and will close: TCP,
// or with -R one whose every Write is a SEND of the control queue pair. An ib_write_bw sleeps for a
// second before it greets.
func Connect(ctx context.Context, conn net.Conn, t Test, mine Hello) (*Session, error) {
	return greet(ctx, newExchanger(conn, true, t), mine)
}

// Accept is the server's greeting.
func Accept(ctx context.Context, conn net.Conn, t Test, mine Hello) (*Session, error) {
	return greet(ctx, newExchanger(conn, false, t), mine)
}

func greet(ctx context.Context, wire exchanger, mine Hello) (*Session, error) {
	if t := wire.test; t.Verb > Atomic || t.Kind > Latency || t.Kind == Latency && t.Bidirectional {
		return nil, fmt.Errorf("perftest: there is no test %s", t)
	}
	message, err := mine.Encode()
	if err != nil {
		return nil, err
	}
	s := &Session{wire: wire}
	if mine.Mark != "" {
		s.wire.kin = message[:versionLen]
	}
	var theirs Hello
	for i, part := range helloParts {
		if err := s.wire.trade(ctx, part.name, message[:part.len], func(b []byte) error {
			return part.decode(&theirs, b)
		}); err != nil {
			return nil, err
		}
		message = message[part.len:]
		if i == 0 && s.wire.metKin {
			s.Agreed, s.Kin = theirs, true
			return s, nil
		}
	}
	s.Agreed = mine.agree(theirs)
	return s, nil
}

// Rest is what a kin has said already beyond its version.
func (s *Session) Rest() []byte {
	rest, _ := s.wire.in.Peek(s.wire.in.Buffered())
	return rest
}

// Barrier waits, with -R, until the peer is there, too: before the RDMA CM connects the queue pairs
// of the test, and after. The messages are keys of nothing.
func (s *Session) Barrier(ctx context.Context) error {
	if !s.wire.test.CM {
		return nil
	}
	return s.wire.trade(ctx, "keys of nothing", make([]byte, cmDestinationLen),
		func(b []byte) error {
			d, err := DecodeDestinationCM(b)
			if err == nil && d.QPN != 0 {
				err = s.mismatch("keys of QPN %#x came before its connection", d.QPN)
			}
			return err
		})
}

// Exchange tells the peer of our queue pairs and answers what it told of as many of its own, in the
// same order. All GIDs of both sides are of one kind, IPv4 or IPv6; with -R they do not matter.
func (s *Session) Exchange(ctx context.Context, mine []Destination) ([]Destination, error) {
	if len(mine) == 0 {
		return nil, fmt.Errorf("perftest: no queue pairs to exchange")
	}
	s.mine, s.theirs = slices.Clone(mine), nil
	order := s.all()
	if s.wire.test.Kind == Latency && s.wire.test.Verb != Send {
		order = append([]int{0}, order...)
	}
	if err := s.keys(ctx, order...); err != nil {
		return nil, err
	}
	return slices.Clone(s.theirs), nil
}

// Connected says that our queue pairs can receive, and waits until the peer's can.
func (s *Session) Connected(ctx context.Context) error {
	if s.wire.test.Verb == Send {
		return s.keys(ctx, append([]int{0}, s.all()...)...)
	}
	return s.keys(ctx, append(s.all(), 0)...)
}

// all are the numbers of the queue pairs.
func (s *Session) all() []int {
	order := make([]int, len(s.mine))
	for i := range order {
		order[i] = i
	}
	return order
}

// Ready waits until the peer, too, is ready for the traffic of the next size, if the test needs it:
// where the peer must have posted receives, or both sides send.
func (s *Session) Ready(ctx context.Context) error {
	if s.wire.test.Verb == Send || s.wire.test.Bidirectional {
		return s.keys(ctx, 0)
	}
	return nil
}

// Done ends the traffic of a size, the last one or not, with our report of it. The peer's comes
// back if it measured something and tells: both do with -b (of SEND not with -D); of
// one-directional WRITE, READ and atomics the client reports the last size to the server, whose own
// report nobody looks at.
func (s *Session) Done(ctx context.Context, mine Report, last bool) (theirs *Report, err error) {
	var before, reports, after bool // what is exchanged
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
		return nil, nil // it measured nothing
	}
	return theirs, nil
}

// Finish says goodbye, if the test does. The connection is of no more use then.
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

// keys exchanges queue pairs of both sides, in the order given. The first time one of the peer's is
// new, later it must be the one it was: its messages are barriers then.
func (s *Session) keys(ctx context.Context, order ...int) error {
	for _, i := range order {
		if i >= len(s.mine) {
			return fmt.Errorf("perftest: no queue pairs have been exchanged")
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
				return s.learn(i, d)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// learn compares the peer's queue pair i with what is known.
func (s *Session) learn(i int, d Destination) error {
	if i < len(s.theirs) {
		if known := s.theirs[i]; d != known {
			return s.mismatch("queue pair %d was QPN %#x PSN %#x rkey %#x, now it is QPN %#x PSN "+
				"%#x rkey %#x; is -q %d there?",
				i, known.QPN, known.PSN, known.RKey, d.QPN, d.PSN, d.RKey, len(s.mine))
		}
		return nil
	}
	if !s.wire.test.CM && d.GID.Is4() != s.mine[i].GID.Is4() {
		return s.mismatch("the GID there is %s, here %s: both IPv4 or both IPv6 (-x)", d.GID,
			s.mine[i].GID)
	}
	for k, other := range s.theirs {
		if other.QPN == d.QPN {
			return s.mismatch("queue pairs %d and %d have one QPN %#x; is -q %d there?", k, i,
				d.QPN, len(s.mine))
		}
	}
	s.theirs = append(s.theirs, d)
	return nil
}

func (s *Session) mismatch(format string, args ...any) error {
	return fmt.Errorf("perftest: %s: %w", fmt.Sprintf(format, args...), s.wire.mismatch())
}

// report exchanges reports, a number at a time.
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
