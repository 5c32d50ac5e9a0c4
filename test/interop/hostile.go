package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/units"
)

// hostile is a peer that does not what it should. Whatever it does, our end has to end in time,
// with an exit code that is not 0 and a word on why, and its port has to be free again.
type hostile struct {
	name  string
	role  matrix.Role // ours
	test  matrix.Test
	peer  func(ctx context.Context, e *encounter) error // of a peer that is made up
	extra []string                                      // flags that only the guest's program has
	other matrix.Test                                   // that the guest runs instead
	kill  string                                        // who dies in the middle: "theirs", "ours"
	// regexp of what our end says; empty: anything
	says string
}

// encounter is what came of one.
type encounter struct {
	hostile
	lab      *lab
	ours     *program
	theirs   *program // in the guest
	took     time.Duration
	err      error
	said     string
	programs []*program
}

// hostiles are all.
var hostiles = []hostile{
	{name: "bad/client/version", role: matrix.Client, peer: serverSays(hello("5.00")),
		says: `5\.00|version`},
	{name: "bad/server/version", role: matrix.Server, peer: clientSays(hello("5.00")),
		says: `5\.00|version`},
	{name: "bad/client/garbage", role: matrix.Client,
		peer: serverSays("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), says: "SSH"},
	{name: "bad/server/garbage", role: matrix.Server,
		peer: clientSays("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), says: "GET"},
	{name: "bad/client/half-open", role: matrix.Client, peer: serverSays("")},
	{name: "bad/server/half-open", role: matrix.Server, peer: silentClientThenAnother},
	{name: "bad/client/half-way", role: matrix.Client, peer: serverSays(hello(version))},
	{name: "bad/server/half-way", role: matrix.Server, peer: clientSays(hello(version))},
	{name: "bad/client/more-qps", role: matrix.Client, extra: []string{"-q", "2"}},
	{name: "bad/server/more-qps", role: matrix.Server, extra: []string{"-q", "2"}},
	{name: "bad/client/other-verb", role: matrix.Client, other: matrix.SendBW},
	{name: "bad/server/other-verb", role: matrix.Server, other: matrix.SendBW},
	{name: "bad/client/larger-size", role: matrix.Client, test: matrix.SendBW,
		extra: []string{"-s", "2"}},
	{name: "bad/server/larger-size", role: matrix.Server, extra: []string{"-s", "1048576"}},
	{name: "bad/client/peer-dies", role: matrix.Client, kill: "theirs"},
	{name: "bad/server/peer-dies", role: matrix.Server, kill: "theirs"},
	{name: "bad/client/peer-dies-lat", role: matrix.Client, test: matrix.SendLat, kill: "theirs"},
	{name: "bad/server/peer-dies-lat", role: matrix.Server, test: matrix.SendLat, kill: "theirs"},
	{name: "bad/client/we-die", role: matrix.Client, kill: "ours"},
	{name: "bad/server/we-die", role: matrix.Server, kill: "ours"},
}

// version is what perftest 4.5 says that it is.
const version = "6.06"

// hello is the first message of perftest's handshake.
func hello(version string) string {
	const size = 16
	return version + strings.Repeat("\x00", size-len(version))
}

// bound is how long our end may take to notice. The longest wait that it has is for a peer that
// says nothing: setup.
const (
	bound = 25 * time.Second
	setup = "5s"
)

// cell is what both ends would run if all were well.
func (h hostile) cell() matrix.Cell {
	test := h.test
	if test == "" {
		test = matrix.WriteBW
	}
	return matrix.Cell{Test: test, Role: h.role, Service: matrix.RC, IP: matrix.IPv4,
		Size: 4 * units.KiB, MTU: 1024, QPs: 1}
}

// meet runs our end against one of them.
func (l *lab) meet(ctx context.Context, h hostile) *encounter {
	e := &encounter{hostile: h, lab: l}
	ctx, cancel := context.WithTimeoutCause(ctx, 3*bound, fmt.Errorf("not done after %v", 3*bound))
	defer cancel()
	begun := time.Now()
	switch {
	case h.peer != nil:
		e.err = h.peer(ctx, e)
	default:
		e.err = e.guest(ctx)
	}
	e.took = time.Since(begun)
	for _, p := range []*program{e.ours, e.theirs} {
		if p != nil {
			p.end()
			e.programs = append(e.programs, p)
		}
	}
	if e.ours != nil && e.said == "" {
		e.said = firstLine(e.ours.outcome().errs)
	}
	e.err = errors.Join(e.err, portFree())
	return e
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// serve starts our end as a server; connect starts it as a client of a server at an address.
func (e *encounter) serve(ctx context.Context, more ...string) error {
	line := append(e.cell().Ours(e.lab.bin(), iface, ""), "--connect-timeout", setup)
	e.ours = launch(append(line, more...)...)
	return e.lab.serving(ctx, e.cell(), e.ours)
}

func (e *encounter) connect(address string, more ...string) {
	line := e.cell().Ours(e.lab.bin(), iface, "")
	line = append(line[:len(line)-1:len(line)-1], "--connect-timeout", setup)
	e.ours = launch(append(append(line, more...), address)...)
}

// fails waits for our end to end as it should.
func (e *encounter) fails(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("after %v", bound))
	defer cancel()
	o, err := e.ours.wait(ctx)
	switch {
	case err != nil:
		return err
	case o.fault != nil:
		return o.fault
	case o.code == 0:
		return errors.New("our end ended as if all were well")
	case strings.Contains(o.errs, "goroutine ") || o.code > codeOfSignal:
		return fmt.Errorf("our end crashed: exit code %d", o.code)
	case strings.TrimSpace(o.errs) == "":
		return errors.New("our end does not say what was wrong")
	case !regexp.MustCompile(e.says).MatchString(o.errs):
		return fmt.Errorf("our end does not say what was wrong: %q, not %s", firstLine(o.errs),
			e.says)
	}
	return nil
}

// clientSays is a client that says something and then nothing.
func clientSays(text string) func(context.Context, *encounter) error {
	return func(ctx context.Context, e *encounter) error {
		if err := e.serve(ctx); err != nil {
			return err
		}
		c, err := dial()
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte(text)); err != nil {
			return err
		}
		return e.fails(ctx)
	}
}

// serverSays is a server that waits for what a client says first, and then says something, once.
func serverSays(text string) func(context.Context, *encounter) error {
	return func(ctx context.Context, e *encounter) error {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", matrix.Port))
		if err != nil {
			return err
		}
		defer l.Close()
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			b := make([]byte, len(hello("")))
			_, _ = c.Read(b)
			_, _ = c.Write([]byte(text))
			_, _ = c.Read(b) // until the client goes
		}()
		e.connect("127.0.0.1")
		return e.fails(ctx)
	}
}

func dial() (net.Conn, error) {
	return net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", matrix.Port), time.Second)
}

// silentClientThenAnother is a client that connects and never speaks. It need not end our server:
// the next client is served all the same.
func silentClientThenAnother(ctx context.Context, e *encounter) error {
	if err := e.serve(ctx); err != nil {
		return err
	}
	c, err := dial()
	if err != nil {
		return err
	}
	defer c.Close()
	e.theirs = e.lab.peer.start(bound, e.cell().Theirs()...)
	if err := finish(ctx, e.ours, e.theirs); err != nil {
		return err
	}
	_, err = judge(e.cell(), e.ours.outcome(), e.theirs.outcome())
	e.said = "the next client was served"
	return err
}

// guest is a peer that is perftest's own program, told other things than ours, or with one of the
// two killed.
func (e *encounter) guest(ctx context.Context) error {
	cell := e.cell()
	if e.other != "" {
		cell.Test = e.other
	}
	line := append(cell.Theirs(), e.extra...)
	var more []string
	if e.kill != "" {
		more = []string{"-n", "1000000"} // which would take a minute
		line = append(line, more...)
	}
	if e.role == matrix.Server {
		if err := e.serve(ctx, more...); err != nil {
			return err
		}
		e.theirs = e.lab.peer.start(3*bound, line...)
	} else {
		e.theirs = e.lab.peer.start(3*bound, line...)
		if err := e.lab.listening(ctx, e.lab.peer, cell, e.theirs); err != nil {
			return err
		}
		e.connect(matrix.PeerIPv4, more...)
	}
	if e.kill == "" {
		return e.fails(ctx)
	}
	if err := e.traffic(ctx); err != nil {
		return err
	}
	if e.kill == "theirs" {
		e.theirs.signal(syscall.SIGKILL)
		return e.fails(ctx)
	}
	e.ours.signal(syscall.SIGKILL)
	return e.theirsEnds(ctx)
}

// traffic waits until messages flow.
func (e *encounter) traffic(ctx context.Context) error {
	const many = 1000
	before, err := e.lab.peer.counters(ctx)
	if err != nil {
		return err
	}
	for {
		now, err := e.lab.peer.counters(ctx)
		if err != nil {
			return err
		}
		if now["rcvd_pkts"] > before["rcvd_pkts"]+many {
			return nil
		}
		for _, p := range []*program{e.ours, e.theirs} {
			select {
			case <-p.ended:
				return fmt.Errorf("%s ended before there was traffic: %w", p, p.outcome().err())
			default:
			}
		}
	}
}

// theirsEnds gives the peer a while to notice that we died. How it does is its own affair: rxe's
// requester may send for ever to an address that no longer answers. But the next one is served.
func (e *encounter) theirsEnds(ctx context.Context) error {
	const while = 10 * time.Second
	select {
	case <-e.theirs.ended:
		o := e.theirs.outcome()
		e.said = fmt.Sprintf("theirs ended: exit code %d", o.code)
	case <-time.After(while):
		e.said = fmt.Sprintf("theirs went on for %v, and was ended", while)
	case <-ctx.Done():
	}
	e.theirs.end()
	t := e.lab.once(ctx, e.cell())
	if t.err != nil {
		return fmt.Errorf("the next run: %w", t.err)
	}
	return nil
}
