package goroce

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// The limits of a Listener. A source is an IPv4 address, or the first 64 bits of an IPv6 address.
const (
	// MaxHandshakes is how many clients may be without a queue pair, each with a TCP connection and
	// a goroutine; one more displaces the oldest of them.
	MaxHandshakes = 512
	// MaxHandshakesFrom is how many of them may come from one source; one more displaces that
	// source's oldest.
	MaxHandshakesFrom = 128
	// MaxUnaccepted is how many connections may have a queue pair and 8 MiB of memory before Accept
	// returns them; more clients wait.
	MaxUnaccepted = 64
	// MaxUnacceptedFrom is how many of them may come from one source.
	MaxUnacceptedFrom = 32
)

var errDisplaced = errors.New("displaced by newer clients")

// handshakes limits what the clients of a Listener hold.
type handshakes struct {
	mu          sync.Mutex
	waiting     []*handshake // those without a queue pair, oldest first
	holders     int          // those with one
	holdersFrom map[netip.Prefix]int

	established, displaced uint64
}

// handshake is one client, from its TCP connection to Accept.
type handshake struct {
	source  netip.Prefix
	cancel  context.CancelCauseFunc
	greeted bool
	turn    chan struct{} // closed when it may have a queue pair
}

// sourceOf returns what counts as one source. Addresses that are not IP share one.
func sourceOf(addr net.Addr) netip.Prefix {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	source, _ := ip.WithZone("").Prefix(bits) // the bits are there
	return source
}

// enter adds a client, and may displace another. The context ends when the client itself is
// displaced.
func (l *handshakes) enter(ctx context.Context, source netip.Prefix) (context.Context, *handshake) {
	ctx, cancel := context.WithCancelCause(ctx)
	hs := &handshake{source: source, cancel: cancel, turn: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	from := func(w *handshake) bool { return w.source == source }
	if l.count(from) >= MaxHandshakesFrom {
		l.displace(slices.IndexFunc(l.waiting, from))
	} else if len(l.waiting) >= MaxHandshakes {
		l.displace(0)
	}
	l.waiting = append(l.waiting, hs)
	return ctx, hs
}

func (l *handshakes) count(is func(*handshake) bool) (n int) {
	for _, w := range l.waiting {
		if is(w) {
			n++
		}
	}
	return n
}

func (l *handshakes) displace(i int) {
	l.displaced++
	l.waiting[i].cancel(errDisplaced)
	l.waiting = slices.Delete(l.waiting, i, i+1)
}

// greeted waits until a client whose Hello has come may have a queue pair.
func (l *handshakes) greeted(ctx context.Context, hs *handshake) error {
	l.mu.Lock()
	hs.greeted = true
	l.admit()
	l.mu.Unlock()
	select {
	case <-hs.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// admit gives the places for queue pairs to the oldest clients that may have one.
func (l *handshakes) admit() {
	l.waiting = slices.DeleteFunc(l.waiting, func(w *handshake) bool {
		if !w.greeted || l.holders >= MaxUnaccepted ||
			l.holdersFrom[w.source] >= MaxUnacceptedFrom {
			return false
		}
		if l.holdersFrom == nil {
			l.holdersFrom = map[netip.Prefix]int{}
		}
		l.holders++
		l.holdersFrom[w.source]++
		close(w.turn)
		return true
	})
}

// done counts a connection.
func (l *handshakes) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.established++
}

// leave removes a client: it has gone, or its connection is the program's now.
func (l *handshakes) leave(hs *handshake) {
	hs.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-hs.turn:
		l.holders--
		if l.holdersFrom[hs.source]--; l.holdersFrom[hs.source] == 0 {
			delete(l.holdersFrom, hs.source)
		}
		l.admit()
	default:
		if i := slices.Index(l.waiting, hs); i >= 0 { // else it was displaced
			l.waiting = slices.Delete(l.waiting, i, i+1)
		}
	}
}

// counts returns how many clients have got a connection, and how many were displaced.
func (l *handshakes) counts() (established, displaced uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.established, l.displaced
}
