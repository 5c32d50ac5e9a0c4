package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
)

// lab is where trials run: in the namespace of scripts/interop, with a guest.
type lab struct {
	root   string // of the checkout
	peer   *guest
	second *guest // for figures of rxe with itself
	wire   *wire  // nil without one; the way past it is "eth0"
	at     string // where our end was last
}

// iface is our interface on the guests' switch.
const iface = "eth0"

func (l *lab) bin() string { return filepath.Join(l.root, "bin") }

// open enters what is up.
func open(root string, pair, impaired bool) (*lab, error) {
	l := &lab{root: root}
	var err error
	if l.peer, err = enter(root, "a"); err != nil {
		return nil, err
	}
	if pair {
		l.second, err = enter(root, "b")
	}
	if err == nil && impaired {
		l.wire, err = layWire()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() {
	if l.wire != nil {
		l.wire.remove()
	}
	for _, g := range []*guest{l.peer, l.second} {
		if g != nil {
			g.leave()
		}
	}
}

// move has the guest forget the MAC address of our end when that goes to another interface. It
// would find out by itself, after ten seconds, if it speaks first.
func (l *lab) move(ctx context.Context, at string) error {
	if l.at == at {
		return nil
	}
	l.at = at
	_, err := l.peer.run(ctx, 10*time.Second, "ip neigh flush dev eth0")
	return err
}

// listening waits until a server in a guest can be reached.
func (l *lab) listening(ctx context.Context, g *guest, c matrix.Cell, server *program) error {
	const limit = 20 * time.Second
	look := fmt.Sprintf(`grep -q ":%04X .* 0A " /proc/net/tcp /proc/net/tcp6`, matrix.Port)
	if c.Test == matrix.Rping || c.CM {
		look = "rdma resource show cm_id | grep -q LISTEN"
	}
	watch := g.start(limit, "until "+look+"; do sleep 0.02; done")
	defer watch.end()
	select {
	case <-watch.ended:
		return watch.outcome().err()
	case <-server.ended:
		return fmt.Errorf("%s ended before it listened: %w", server, server.outcome().err())
	case <-ctx.Done():
		return fmt.Errorf("%s does not listen: %w", server, context.Cause(ctx))
	}
}

// serving waits until a server of ours can be reached. rping's says nothing; but when its endpoint
// answers a ping, it is there.
func (l *lab) serving(ctx context.Context, c matrix.Cell, server *program) error {
	switch c.Test {
	case matrix.RCPingpong:
		return server.says(ctx, "local address:")
	case matrix.Rping:
		address := map[matrix.IP]string{matrix.IPv4: matrix.OurIPv4,
			matrix.IPv6: matrix.OurIPv6}[c.IP]
		_, err := l.peer.run(ctx, patience(c),
			"until ping -q -c 1 -W 0.1 "+address+"; do sleep 0.02; done >/dev/null 2>&1")
		return err
	}
	return server.says(ctx, "Waiting for client")
}

// reachable says whether the guest's network is there: its kernel refuses a connection to a port
// that nobody listens at, which is an answer.
func reachable() error {
	const nobody, limit = "1", 10 * time.Second
	c, err := net.DialTimeout("tcp", net.JoinHostPort(matrix.PeerIPv4, nobody), limit)
	if err == nil {
		return c.Close()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	return fmt.Errorf("the guest's network is gone: %w", err)
}

// portFree says that perftest's port can be listened at, here.
func portFree() error {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", matrix.Port))
	if err != nil {
		return fmt.Errorf("the port is not free again: %w", err)
	}
	return l.Close()
}

// needs says which programs are not built.
func (l *lab) needs(cells []matrix.Cell) error {
	missing := map[string]bool{}
	var errs []error
	for _, c := range cells {
		name := c.Ours(l.bin(), iface, "")[0]
		if _, err := os.Stat(name); err != nil && !missing[name] {
			missing[name] = true
			errs = append(errs, fmt.Errorf("%s is not built; make binaries",
				strings.TrimPrefix(name, l.root+"/")))
		}
	}
	return errors.Join(errs...)
}
