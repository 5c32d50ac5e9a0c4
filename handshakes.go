package goroce

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Limits of a Listener. A source is an IPv4 address, or the first 64 bits of an IPv6 address.
const (
	// MaxHandshakes is how many clients without a queue pair a Listener holds, each with a TCP
	// connection and a goroutine. A further client displaces the oldest.
	MaxHandshakes = 512
	// MaxHandshakesFrom is how many of these clients may come from one source. A further client
	// displaces that source's oldest.
	MaxHandshakesFrom = 128
	// MaxUnaccepted is how many connections may have a queue pair and 8 MiB of memory before Accept
	// returns them. Further clients wait.
	MaxUnaccepted = 64
	// MaxUnacceptedFrom is how many of these connections may come from one source.
	MaxUnacceptedFrom = 32
)

var errDisplaced = errors.New("displaced by newer clients")

// handshakes limits the resources that the clients of a Listener hold.
type handshakes struct {
	mu          sync.Mutex
	waiting     []*handshake // clients without a queue pair, oldest first
	holders     int          // clients with a queue pair
	holdersFrom map[netip.Prefix]int

	established, displaced uint64
}

// handshake is a client from its TCP connection to Accept.
type handshake struct {
	source  netip.Prefix
	cancel  context.CancelCauseFunc
	greeted bool
	turn    chan struct{} // closed when the client may have a queue pair
}

// sourceOf returns the source of an address. All addresses other than TCP's share the zero Prefix.
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
	source, _ := ip.WithZone("").Prefix(bits) // cannot fail: bits is valid for the family
	return source
}

// enter adds a client and may displace another. The returned context ends when this client is
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

// greeted waits until a client whose Hello has arrived may have a queue pair.
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

// admit lets the oldest waiting clients have queue pairs, as far as the limits permit.
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

// done counts an established connection.
func (l *handshakes) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.established++
}

// leave removes a client that is gone or whose connection Accept has returned.
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
		if i := slices.Index(l.waiting, hs); i >= 0 { // otherwise it was displaced
			l.waiting = slices.Delete(l.waiting, i, i+1)
		}
	}
}

// counts returns the numbers of established connections and of displaced clients.
func (l *handshakes) counts() (established, displaced uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.established, l.displaced
}
