package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goroce/goroce"
)

// Client is a connection to a Server. Its methods are safe for concurrent use.
type Client struct {
	conn *goroce.Conn

	mu    sync.Mutex
	next  uint32
	calls map[uint32]chan response // in flight
	err   error                    // why the connection ended
	ended chan struct{}            // closed when err is set
}

type response struct {
	body []byte
	err  error
}

// Dial connects to a Server on a host that listens at addr.
func Dial(ctx context.Context, host *goroce.Host, addr string) (*Client, error) {
	conn, err := host.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, calls: make(map[uint32]chan response), ended: make(chan struct{})}
	go c.receive()
	return c, nil
}

// Close ends the connection. Calls in flight return errors.
func (c *Client) Close() error { return c.conn.Close() }

// Err returns why the connection ended, or nil if it has not.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// InFlight returns the number of calls that wait for a response.
func (c *Client) InFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// buffers has the memory of requests. SendMsg copies them to the connection's.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Call executes a method at the server. The handler's context has the deadline of ctx, and ends
// when ctx does. The error is an *Error of the server or a *CallError.
func (c *Client) Call(ctx context.Context, method string, body []byte) ([]byte, error) {
	if method == "" || len(method) > MaxMethod || len(body) > MaxBody {
		return nil, &CallError{method, false, fmt.Errorf("method of %d bytes, request of %d: %w",
			len(method), len(body), ErrTooLong)}
	}
	if err := ctx.Err(); err != nil {
		return nil, &CallError{method, false, err}
	}
	id, done, err := c.begin()
	if err != nil {
		return nil, &CallError{method, false, err}
	}
	buffer := buffers.Get().(*[]byte)
	*buffer = appendRequest((*buffer)[:0], method, timeoutUntil(ctx.Deadline()), body)
	err = c.conn.SendMsg(ctx, *buffer, id) // queues the request, or fails without any effect
	buffers.Put(buffer)
	if err != nil {
		c.end(id)
		return nil, &CallError{method, false, err}
	}
	select {
	case r := <-done:
		return r.body, r.err
	case <-c.ended:
	case <-ctx.Done():
	}
	if !c.end(id) { // the response came at the same time
		r := <-done
		return r.body, r.err
	}
	if err := c.Err(); err != nil {
		return nil, &CallError{method, true, err}
	}
	if errors.Is(ctx.Err(), context.Canceled) { // a deadline ends the handler by itself
		go c.cancel(id)
	}
	return nil, &CallError{method, true, ctx.Err()}
}

// begin gives a call an ID and a place for its response.
func (c *Client) begin() (uint32, chan response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	for c.calls[c.next] != nil { // a call that has lasted for 2^32 others
		c.next++
	}
	id, done := c.next, make(chan response, 1)
	c.next++
	c.calls[id] = done
	return id, done, nil
}

// end forgets a call. It reports whether the call had no response.
func (c *Client) end(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waits := c.calls[id]
	delete(c.calls, id)
	return waits
}

// cancelTime is how long a cancellation waits for a place in the send queue.
const cancelTime = time.Second

// cancel ends the handler's context. That only saves work, so errors do not matter.
func (c *Client) cancel(id uint32) {
	ctx, stop := context.WithTimeout(context.Background(), cancelTime)
	defer stop()
	_ = c.conn.SendMsg(ctx, appendCancel(nil), id)
}

// receive hands the responses to the calls, until the connection ends.
func (c *Client) receive() {
	for {
		err := c.receiveOne()
		if err == nil {
			continue
		}
		c.mu.Lock()
		c.err = err
		close(c.ended)
		c.mu.Unlock()
		_ = c.conn.Abort()
		return
	}
}

func (c *Client) receiveOne() error {
	m, err := c.conn.RecvBuf(context.Background())
	if err != nil {
		return err
	}
	code, body, err := parseResponse(m.Bytes())
	if err == nil && !m.WithImm {
		err = errors.New("rpc: response without immediate data, want the call's ID")
	}
	if err != nil {
		return errors.Join(err, m.Release())
	}
	r := response{body: bytes.Clone(body)}
	if code != codeOK {
		r = response{err: &Error{code, string(body)}}
	}
	if err := m.Release(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if done := c.calls[m.Imm]; done != nil { // otherwise the call was cancelled
		delete(c.calls, m.Imm)
		done <- r
	}
	return nil
}
