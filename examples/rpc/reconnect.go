package rpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/goroce/goroce"
)

// Backoff limits how often a Redialer dials. The zero value has the defaults.
type Backoff struct {
	// Shortest is the pause after the first failure, 10 ms if 0. Each further one doubles it, up
	// to Longest, 1 s if 0. A random part of up to half of it is left out, so that the clients of a
	// server that restarts do not return at the same time.
	Shortest, Longest time.Duration
	// Attempt is the time for one Dial, 1 s if 0. Within it Host.Dial repeats the TCP connect.
	Attempt time.Duration
}

// pause returns the pause after a number of failures, 1 or more.
func (b Backoff) pause(failures int) time.Duration {
	longest := orDefault(b.Longest, time.Second)
	d := min(orDefault(b.Shortest, 10*time.Millisecond), longest)
	for i := 1; i < failures && d < longest; i++ {
		d = min(2*d, longest)
	}
	return d - rand.N(d/2+1)
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// errClosed is the cause of the calls of a Redialer that was closed.
var errClosed = errors.New("the client is closed")

// Redialer is a Client that dials again after its connection has ended. Its methods are safe for
// concurrent use.
type Redialer struct {
	dial    func(ctx context.Context) (*Client, error)
	backoff Backoff
	life    context.Context // ends with Close
	close   context.CancelFunc
	running sync.WaitGroup // the goroutine that dials

	mu     sync.Mutex
	client *Client       // nil while dialling, and before the first call
	ready  chan struct{} // closed when client is set or life ends; nil unless dialling
}

// NewRedialer returns a client of the server at addr. The first call dials.
func NewRedialer(host *goroce.Host, addr string, b Backoff) *Redialer {
	r := &Redialer{backoff: b}
	r.life, r.close = context.WithCancel(context.Background())
	r.dial = func(ctx context.Context) (*Client, error) { return Dial(ctx, host, addr) }
	return r
}

// Call is Client.Call. While there is no connection it waits for one, until ctx ends. A request
// that was not sent is sent on the next connection. If the connection ends after that, the call
// may have been executed, and the error is a CallError with Sent: only the caller can decide
// whether to repeat it.
func (r *Redialer) Call(ctx context.Context, method string, body []byte) ([]byte, error) {
	for {
		c, err := r.connected(ctx)
		if err != nil {
			return nil, &CallError{method, false, err}
		}
		result, err := c.Call(ctx, method, body)
		failure, is := errors.AsType[*CallError](err)
		if !is || failure.Sent || ctx.Err() != nil || errors.Is(err, ErrTooLong) {
			return result, err
		}
		r.drop(c)
	}
}

// Close ends the connection. Calls return errors.
func (r *Redialer) Close() error {
	r.mu.Lock()
	r.close() // no call starts redial after this
	r.mu.Unlock()
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil {
		return nil
	}
	return r.client.Close()
}

// connected returns the client, after dialling if there is none.
func (r *Redialer) connected(ctx context.Context) (*Client, error) {
	for {
		r.mu.Lock()
		switch {
		case r.life.Err() != nil:
			r.mu.Unlock()
			return nil, errClosed
		case r.client != nil && r.client.Err() == nil:
			defer r.mu.Unlock()
			return r.client, nil
		case r.ready == nil:
			r.client, r.ready = nil, make(chan struct{})
			r.running.Go(r.redial)
		}
		ready := r.ready
		r.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// drop ends a client whose connection does not take requests.
func (r *Redialer) drop(c *Client) {
	_ = c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == c {
		r.client = nil
	}
}

// redial dials until it has a connection, or the Redialer is closed.
func (r *Redialer) redial() {
	c := r.dialUntil()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client = c
	close(r.ready)
	r.ready = nil
}

func (r *Redialer) dialUntil() *Client {
	attempt := orDefault(r.backoff.Attempt, time.Second)
	for failures := 1; r.life.Err() == nil; failures++ {
		ctx, cancel := context.WithTimeout(r.life, attempt)
		c, err := r.dial(ctx)
		cancel()
		if err == nil {
			return c
		}
		select {
		case <-time.After(r.backoff.pause(failures)):
		case <-r.life.Done():
		}
	}
	return nil
}
