package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/goroce/goroce"
)

// Server serves what hosts do over HTTP: /metrics, /healthz, /debug/goroce, /debug/pprof.
type Server struct {
	*Collector
	listener net.Listener
	http     http.Server
	ended    chan struct{}
}

const (
	// answerTime is the longest time that /healthz waits for a polling core.
	answerTime = time.Second
	// maxScrapes is how many scrapes may run at a time.
	maxScrapes = 4
)

// Listen starts a Server on a TCP address, HOST:PORT; port 0 chooses one. It has no hosts yet. Who
// reaches the address can profile the process, so use a loopback address on a network that is not
// trusted.
func Listen(addr string, o Options) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	s := &Server{Collector: NewCollector(o), listener: l, ended: make(chan struct{})}
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Collector, collectors.NewGoCollector(),
		collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.http = http.Server{Handler: s.mux(registry), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(l) // until Close
	}()
	return s, nil
}

// FlagHelp is the help of the flag --metrics of programs.
const FlagHelp = "serve /metrics, /healthz, /debug/goroce and /debug/pprof on this `address`, " +
	"HOST:PORT; use a loopback address where the network is not trusted (docs/metrics.md)"

// CheckAddr checks the value of the flag, which is called name.
func CheckAddr(name, addr string) error {
	if addr == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("%s %s: want HOST:PORT, such as 127.0.0.1:9100", name, addr)
	}
	return nil
}

// Start starts a Server with the default Options on the value of the flag --metrics. It returns nil
// for "", and a nil Server does nothing.
func Start(addr string) (*Server, error) {
	if addr == "" {
		return nil, nil
	}
	s, err := Listen(addr, Options{})
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", addr, err)
	}
	return s, nil
}

// Add adds a host, see Collector.
func (s *Server) Add(h *goroce.Host) {
	if s != nil {
		s.Collector.Add(h)
	}
}

// Addr returns the address on which it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close ends the server. Requests in progress are cut off.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	err := s.http.Close()
	<-s.ended
	return err
}

func (s *Server) mux(registry *prometheus.Registry) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /debug/goroce", page)
	mux.HandleFunc("GET /debug/goroce/state", s.state)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /{$}", index)
	return mux
}

// index links to the other pages.
func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, `<!doctype html><title>goroce</title><ul>`)
	for _, path := range []string{"/metrics", "/healthz", "/debug/goroce", "/debug/pprof/"} {
		fmt.Fprintf(w, `<li><a href="%s">%s</a>`, path, path)
	}
}

// health responds ok if each polling core responds and no port has been removed.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	answer := make(chan error, 1)
	go func() {
		var errs []error
		for _, h := range s.list() {
			errs = append(errs, h.ping())
		}
		answer <- errors.Join(errs...)
	}()
	var err error
	select {
	case err = <-answer:
	case <-time.After(answerTime):
		err = fmt.Errorf("a polling core did not answer within %v", answerTime)
	case <-r.Context().Done():
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
