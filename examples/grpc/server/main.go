// Server serves Echo by gRPC over RDMA (docs/grpc.md). It runs until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/examples/grpc"
)

func main() {
	port := flag.String("d", "memif:/tmp/grpc.sock", "URL of the port")
	addr := flag.String("a", "127.0.0.1:18518", "address of the handshake (TCP)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *port, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, port, addr string) error {
	host, err := goroce.Open(port, goroce.Options{})
	if err != nil {
		return err
	}
	defer host.Close()
	l, err := host.ListenStream(addr)
	if err != nil {
		return err
	}
	fmt.Printf("serving on %s at %v\n", port, l.Addr())
	s := grpc.NewServer()
	context.AfterFunc(ctx, s.GracefulStop)
	return s.Serve(l)
}
