// Server serves a directory by HTTP over RDMA (docs/http.md). It runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/goroce/goroce"
)

func main() {
	port := flag.String("d", "memif:/tmp/http.sock", "URL of the port")
	addr := flag.String("a", "127.0.0.1:18517", "address of the handshake (TCP)")
	dir := flag.String("dir", ".", "directory to serve")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *port, *addr, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, port, addr, dir string) error {
	host, err := goroce.Open(port, goroce.Options{})
	if err != nil {
		return err
	}
	defer host.Close()
	l, err := host.ListenStream(addr)
	if err != nil {
		return err
	}
	fmt.Printf("serving %s on %s at %v\n", dir, port, l.Addr())
	server := http.Server{Handler: http.FileServer(http.Dir(dir)),
		ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		ended <- server.Shutdown(late)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended // Serve returns when Shutdown begins
}
