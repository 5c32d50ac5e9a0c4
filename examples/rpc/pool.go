package rpc

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/goroce/goroce"
)

// Pool has a connection for each core of its host (goroce.Options.Queues), and gives them calls in
// turn. Package goroce assigns the cores of both sides to connections in turn.
type Pool struct {
	clients []*Redialer
	next    atomic.Uint32
}

// NewPool returns a client of the server at addr. The first calls dial.
func NewPool(host *goroce.Host, addr string, b Backoff) *Pool {
	p := &Pool{}
	for range host.Endpoints() {
		p.clients = append(p.clients, NewRedialer(host, addr, b))
	}
	return p
}

// Call is Redialer.Call on one of the connections.
func (p *Pool) Call(ctx context.Context, method string, body []byte) ([]byte, error) {
	return p.clients[p.next.Add(1)%uint32(len(p.clients))].Call(ctx, method, body)
}

// Close ends the connections.
func (p *Pool) Close() error {
	var errs []error
	for _, c := range p.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
