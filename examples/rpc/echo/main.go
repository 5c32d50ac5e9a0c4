// Echo runs an RPC server whose methods echo and wait, or a client that calls and measures them
// (docs/rpc.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/examples/rpc"
)

func main() {
	serves := flag.Bool("server", false, "be the server")
	port := flag.String("d", "", "URL of the port; default: an end of memif:/tmp/rpc.sock")
	addr := flag.String("a", "127.0.0.1:18519", "address of the handshake (TCP)")
	cores := flag.Int("cores", 1, "polling cores, each with a connection")
	calls := flag.Int("n", 100_000, "number of calls to measure")
	flight := flag.Int("flight", 64, "calls in flight")
	flag.Parse()
	if *cores < 1 || *calls < 1 || *flight < 1 {
		fmt.Fprintf(os.Stderr, "echo: -cores %d, -n %d, -flight %d: want 1 or more\n", *cores,
			*calls, *flight)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := goroce.Options{Queues: *cores}
	var err error
	switch {
	case *serves:
		err = server(ctx, orDefault(*port, "memif:/tmp/rpc.sock"), *addr, o)
	default:
		err = client(ctx, orDefault(*port, "memif:/tmp/rpc.sock,client"), *addr, o, *calls, *flight)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func orDefault(url, otherwise string) string {
	if url != "" {
		return url
	}
	return otherwise
}

func server(ctx context.Context, port, addr string, o goroce.Options) error {
	host, err := goroce.Open(port, o)
	if err != nil {
		return err
	}
	defer host.Close()
	s, err := rpc.NewServer(map[string]rpc.Handler{
		"echo": func(_ context.Context, body []byte) ([]byte, error) { return body, nil },
		"wait": func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	if err != nil {
		return err
	}
	l, err := host.Listen(addr)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Printf("serving on %s at %v\n", port, l.Addr())
	return s.Serve(ctx, l)
}

func client(ctx context.Context, port, addr string, o goroce.Options, calls, flight int) error {
	host, err := goroce.Open(port, o)
	if err != nil {
		return err
	}
	defer host.Close()
	p := rpc.NewPool(host, addr, rpc.Backoff{})
	defer p.Close()
	first, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := p.Call(first, "echo", []byte("hello"))
	if err != nil {
		return err
	}
	fmt.Printf("echo: %s\n", body)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = p.Call(short, "wait", nil)
	fmt.Printf("wait with a deadline: %v\n", err)
	_, err = p.Call(ctx, "nothing", nil)
	fmt.Printf("nothing: %v\n", err)
	return measure(ctx, p, calls, flight)
}

// measure calls echo from many goroutines.
func measure(ctx context.Context, p *rpc.Pool, calls, flight int) error {
	took, errs := make([]time.Duration, calls), make([]error, flight)
	var all sync.WaitGroup
	began := time.Now()
	for g := range flight {
		all.Go(func() {
			body := []byte("0123456789abcdef")
			for i := g; i < calls && errs[g] == nil; i += flight {
				start := time.Now()
				_, errs[g] = p.Call(ctx, "echo", body)
				took[i] = time.Since(start)
			}
		})
	}
	all.Wait()
	rate := float64(calls) / time.Since(began).Seconds()
	slices.Sort(took)
	fmt.Printf("%d calls, %d in flight: %.0f calls/s, p50 %v, p99 %v\n", calls, flight, rate,
		took[calls/2], took[calls*99/100])
	return errors.Join(errs...)
}
