// Server keeps a key-value store for clients (docs/kv.md). It runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/examples/kv"
)

func main() {
	port := flag.String("d", "memif:/tmp/kv.sock", "URL of the port")
	addr := flag.String("a", "127.0.0.1:18516", "address of the handshake (TCP)")
	ip := flag.String("ip", "", "the host's address with its prefix length; default: link-local")
	entries := flag.Int("entries", 1<<20, "places in the store, 128 bytes each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *port, *addr, *ip, *entries)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, port, addr, ip string, entries int) error {
	o := goroce.Options{}
	if ip != "" {
		prefix, err := netip.ParsePrefix(ip)
		if err != nil {
			return err
		}
		o.Addrs = []netip.Prefix{prefix}
	}
	host, err := goroce.Open(port, o)
	if err != nil {
		return err
	}
	defer host.Close()
	store, err := kv.NewServer(host, entries)
	if err != nil {
		return err
	}
	l, err := host.Listen(addr)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Printf("serving %d entries on %s at %v\n", entries, port, l.Addr())
	return store.Serve(ctx, l)
}
