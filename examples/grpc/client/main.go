// Client calls Echo by gRPC over RDMA and measures calls (docs/grpc.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/examples/grpc"
)

func main() {
	port := flag.String("d", "memif:/tmp/grpc.sock,client", "URL of the port")
	addr := flag.String("a", "127.0.0.1:18518", "address of the server's handshake (TCP)")
	calls := flag.Int("n", 10_000, "number of calls")
	size := flag.Int("s", 100, "bytes in a message")
	flag.Parse()
	if *calls < 1 || *size < 1 {
		fmt.Fprintf(os.Stderr, "client: -n %d, -s %d: want 1 or more\n", *calls, *size)
		os.Exit(2)
	}
	if err := run(*port, *addr, *calls, *size); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(port, addr string, calls, size int) error {
	host, err := goroce.Open(port, goroce.Options{})
	if err != nil {
		return err
	}
	defer host.Close()
	c, err := grpc.Dial(host, addr)
	if err != nil {
		return err
	}
	var took []time.Duration
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		return errors.Join(err, c.Close())
	}
	for value := make([]byte, size); len(took) < calls; {
		began := time.Now()
		if _, err := c.Unary(ctx, value); err != nil {
			return errors.Join(err, c.Close())
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	fmt.Printf("%d calls of %d bytes, one after another: p50 %v, p99 %v\n", calls, size,
		took[calls/2], took[calls*99/100])
	return c.Close()
}
