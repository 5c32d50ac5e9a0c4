package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce"
)

// maxCalls is how many calls of a connection the server runs at a time.
const maxCalls = 4096

// Handler executes a method. ctx ends at the caller's deadline, when the call is cancelled, and
// when the connection ends. The handler may keep and change the request.
type Handler func(ctx context.Context, request []byte) ([]byte, error)

// Server runs handlers for clients. It may serve several listeners.
type Server struct {
	handlers map[string]Handler
	running  atomic.Int64
}

// NewServer returns a server with methods.
func NewServer(methods map[string]Handler) (*Server, error) {
	for name, h := range methods {
		if name == "" || len(name) > MaxMethod || h == nil {
			return nil, fmt.Errorf("rpc: method %q, want a name of 1 to %d bytes and a handler",
				name, MaxMethod)
		}
	}
	return &Server{handlers: maps.Clone(methods)}, nil
}

// Running returns the number of handlers that have not returned.
func (s *Server) Running() int { return int(s.running.Load()) }

// Serve serves clients until ctx ends or the listener is closed. It returns when all handlers have
// returned.
func (s *Server) Serve(ctx context.Context, l *goroce.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			return err
		}
		clients.Go(func() {
			x := session{server: s, conn: conn, calls: make(map[uint32]context.CancelFunc)}
			_ = x.serve(ctx) // a client's error is its own
		})
	}
}

// session is a client's connection.
type session struct {
	server   *Server
	conn     *goroce.Conn
	handlers sync.WaitGroup

	mu    sync.Mutex
	calls map[uint32]context.CancelFunc // that run
}

// serve starts the calls of a client. It does not wait for handlers, so that a slow one delays no
// other call and no cancellation.
func (x *session) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer x.handlers.Wait()
	defer cancel()
	defer x.conn.Close()
	for {
		m, err := x.conn.RecvBuf(ctx)
		if err != nil {
			return err
		}
		r, err := parseRequest(m.Bytes())
		if err == nil && !m.WithImm {
			err = errors.New("rpc: request without immediate data, want the call's ID")
		}
		if err == nil && r.kind == kindCall {
			err = x.begin(ctx, m.Imm, r)
		} else if err == nil {
			x.cancel(m.Imm)
		}
		if err := errors.Join(err, m.Release()); err != nil {
			return err
		}
	}
}

// begin runs the handler of a call in its own goroutine.
func (x *session) begin(ctx context.Context, id uint32, r request) error {
	h := x.server.handlers[string(r.name)]
	if h == nil {
		return x.refuse(ctx, id, CodeNoMethod, fmt.Sprintf("no method %q", r.name))
	}
	call, cancel := context.WithCancel(ctx)
	if r.hasTimeout {
		call, cancel = withTimeout(call, cancel, r.timeout)
	}
	running, err := x.admit(id, cancel)
	if err != nil {
		return err
	}
	if running >= maxCalls {
		return x.refuse(ctx, id, CodeOverloaded,
			fmt.Sprintf("%d calls of the connection are running", running))
	}
	body := bytes.Clone(r.body)
	x.server.running.Add(1)
	x.handlers.Go(func() {
		defer x.server.running.Add(-1)
		x.run(ctx, call, id, h, body)
	})
	return nil
}

// withTimeout adds a timeout to a context that cancel ends.
func withTimeout(ctx context.Context, cancel context.CancelFunc, d time.Duration) (context.Context,
	context.CancelFunc) {
	ctx, stop := context.WithTimeout(ctx, d)
	return ctx, func() {
		stop()
		cancel()
	}
}

// admit adds a call, unless maxCalls others are running, whose number it returns.
func (x *session) admit(id uint32, cancel context.CancelFunc) (running int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	running = len(x.calls)
	switch {
	case x.calls[id] != nil:
		cancel()
		return running, fmt.Errorf("rpc: call ID %d is in use, want one that is not", id)
	case running >= maxCalls:
		cancel()
	default:
		x.calls[id] = cancel
	}
	return running, nil
}

// run executes a call and sends its response, unless it was cancelled.
func (x *session) run(ctx, call context.Context, id uint32, h Handler, body []byte) {
	var result []byte
	err := call.Err() // no handler runs after the deadline
	if err == nil {
		result, err = h(call, body)
	}
	if err == nil && len(result) > MaxBody {
		err = &Error{CodeTooLong, fmt.Sprintf("response of %d bytes, want at most %d", len(result),
			MaxBody)}
	}
	if wanted := x.cancel(id); !wanted {
		return
	}
	if err != nil {
		e := toError(err)
		_ = x.refuse(ctx, id, e.Code, e.Message)
		return
	}
	_ = x.respond(ctx, id, codeOK, result)
}

// cancel ends a call's context. It reports whether the call was running.
func (x *session) cancel(id uint32) bool {
	x.mu.Lock()
	cancel := x.calls[id]
	delete(x.calls, id)
	x.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

func (x *session) refuse(ctx context.Context, id uint32, code Code, why string) error {
	return x.respond(ctx, id, code, []byte(why[:min(len(why), MaxBody)]))
}

// respond sends a response. Its errors are those of the connection, which serve returns too.
func (x *session) respond(ctx context.Context, id uint32, code Code, body []byte) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = appendResponse((*buffer)[:0], code, body)
	return x.conn.SendMsg(ctx, *buffer, id)
}
