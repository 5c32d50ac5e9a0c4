// Command roce_rping is librdmacm's rping over a DPDK port: the client advertises a text, the
// server READs it and WRITEs it back, over a connection of the RDMA connection manager. Either end
// may be the original rping. See --help.
//
// settings.go parses the command line, text.go has the messages, end.go a queue pair with its
// buffers, client.go and server.go the two roles. The package imports goroce and transport.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/metrics"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program with a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = s.ping(ctx, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "roce_rping: %v\n", err)
		return 1
	}
	return 0
}

// ping opens the port and performs the role.
func (s *settings) ping(ctx context.Context, stdout, stderr io.Writer) error {
	// A polling goroutine never releases its P; the other goroutines need another.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	monitor, err := metrics.Start(s.metrics)
	if err != nil {
		return err
	}
	defer monitor.Close()
	host, err := goroce.Open(s.device, goroce.Options{Addrs: s.addrs, Gateways: s.gateways,
		Idle: s.idle, Pcap: s.pcap, NewAlgorithm: s.control, CM: true})
	if err != nil {
		return err
	}
	monitor.Add(host)
	if s.server {
		err = s.serve(ctx, host, stdout, stderr)
	} else {
		err = s.dial(ctx, host, stdout)
	}
	return errors.Join(err, host.Close())
}
