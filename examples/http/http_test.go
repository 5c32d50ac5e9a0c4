package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
)

// world is a server and a client on the two ends of a loop port.
type world struct {
	client, server *goroce.Host
	listener       net.Listener
	web            *http.Client
	url            string
}

func newWorld(t *testing.T) *world {
	var w world
	for _, h := range []**goroce.Host{&w.server, &w.client} {
		host, err := goroce.Open("loop:"+t.Name(), goroce.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, host.Close()) })
		*h = host
	}
	var err error
	w.listener, err = w.server.ListenStream("127.0.0.1:0")
	require.NoError(t, err)
	transport := NewTransport(w.client)
	t.Cleanup(transport.CloseIdleConnections)
	w.web = &http.Client{Transport: transport, Timeout: 20 * time.Second}
	w.url = "http://" + w.listener.Addr().String()
	return &w
}

// serve serves until the end of the test.
func (w *world) serve(t *testing.T, handler http.Handler) *http.Server {
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error)
	go func() { done <- s.Serve(w.listener) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return s
}

func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Client", r.RemoteAddr)
	b, _ := io.ReadAll(r.Body) // all: in HTTP/1 a response ends the request
	_, _ = w.Write(b)
}

func body(t *testing.T, r *http.Response, err error) []byte {
	require.NoError(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return b
}

func TestBothWays(t *testing.T) {
	w := newWorld(t)
	w.serve(t, http.HandlerFunc(echo))
	for _, n := range []int{0, 1, 1000, 100_000, 5_000_000} {
		data := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		r, err := w.web.Post(w.url, "text/plain", bytes.NewReader(data))
		require.True(t, bytes.Equal(data, body(t, r, err)), "%d bytes", n)
	}
}

// One stream serves many requests, one after another.
func TestKeepsConnection(t *testing.T) {
	w := newWorld(t)
	w.serve(t, http.HandlerFunc(echo))
	clients := map[string]bool{}
	for range 50 {
		r, err := w.web.Get(w.url)
		body(t, r, err)
		clients[r.Header.Get("X-Client")] = true
	}
	require.Len(t, clients, 1)
}

func TestConcurrentRequests(t *testing.T) {
	w := newWorld(t)
	w.serve(t, http.HandlerFunc(echo))
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for k := range 10 {
				text := strings.Repeat(fmt.Sprint(i, k), 1000)
				r, err := w.web.Post(w.url, "text/plain", strings.NewReader(text))
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil || string(b) != text {
					t.Error("a response differs:", err)
				}
			}
		})
	}
	all.Wait()
}

// A response arrives in pieces, as the server flushes it.
func TestStreamedResponse(t *testing.T) {
	w := newWorld(t)
	next := make(chan struct{})
	w.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprint(w, i)
			w.(http.Flusher).Flush()
			<-next
		}
	}))
	r, err := w.web.Get(w.url)
	require.NoError(t, err)
	defer r.Body.Close()
	for i := range 3 {
		var b [1]byte
		_, err := io.ReadFull(r.Body, b[:])
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(b[:]))
		next <- struct{}{}
	}
}

// A request whose context ends also ends the context of its handler.
func TestCancelledRequest(t *testing.T) {
	w := newWorld(t)
	ended := make(chan error)
	w.serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended <- r.Context().Err()
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	_, err := w.web.Do(r)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	select {
	case err = <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(10 * time.Second):
		t.Fatal("the context of the handler has not ended")
	}
}

// Shutdown lets a request finish and refuses further ones.
func TestShutdown(t *testing.T) {
	w := newWorld(t)
	began, finish := make(chan struct{}), make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		fmt.Fprint(w, "finished")
	})}
	go func() { _ = s.Serve(w.listener) }()
	result := make(chan string)
	go func() {
		r, err := w.web.Get(w.url)
		if err != nil {
			result <- err.Error()
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		result <- string(b)
	}()
	<-began
	down := make(chan error)
	go func() { down <- s.Shutdown(context.Background()) }()
	time.Sleep(10 * time.Millisecond)
	close(finish)
	require.Equal(t, "finished", <-result)
	require.NoError(t, <-down)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	_, err := w.web.Do(r)
	require.Error(t, err)
}

// HTTP/2 without TLS: one stream, many requests at a time.
func TestHTTP2(t *testing.T) {
	w := newWorld(t)
	s := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })}
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(w.listener) }()
	defer s.Close()
	transport := w.web.Transport.(*http.Transport)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetUnencryptedHTTP2(true)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			r, err := w.web.Get(w.url)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			if b, _ := io.ReadAll(r.Body); string(b) != "HTTP/2.0" {
				t.Errorf("%s", b)
			}
		})
	}
	all.Wait()
}

// TLS runs over a stream as over TCP.
func TestTLS(t *testing.T) {
	w := newWorld(t)
	certificates := httptest.NewUnstartedServer(nil) // its certificate is for example.com
	certificates.StartTLS()
	defer certificates.Close()
	s := &http.Server{Handler: http.HandlerFunc(echo), TLSConfig: certificates.TLS.Clone()}
	go func() { _ = s.Serve(tls.NewListener(w.listener, s.TLSConfig)) }()
	defer s.Close()
	roots := certificates.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	w.web.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots,
		ServerName: "example.com"}
	r, err := w.web.Post(strings.Replace(w.url, "http:", "https:", 1), "text/plain",
		strings.NewReader("secret"))
	require.Equal(t, "secret", string(body(t, r, err)))
	require.NotNil(t, r.TLS)
}

// A listener for messages refuses the client, with the reason.
func TestWrongListener(t *testing.T) {
	w := newWorld(t)
	l, err := w.server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = w.web.Get("http://" + l.Addr().String())
	require.ErrorContains(t, err, "this side's is for messages")
	require.False(t, errors.Is(err, context.DeadlineExceeded))
}
