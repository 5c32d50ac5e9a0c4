package rping

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
)

// Main is the program.
func Main() { os.Exit(run(cli.Interruptible(), os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the program with a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, w := &settings{}, &words{}
	table := s.table(w)
	c := &cobra.Command{
		Use: "roce_rping [flags]", Short: "roce_rping is librdmacm's rping over a DPDK port",
		Long: synopsis, Example: example, Args: cli.NoArgs,
		Version: cli.Version(eal.Version()),
		RunE: func(*cobra.Command, []string) error {
			if err := s.settle(table, w); err != nil {
				return cli.Usage(err)
			}
			return s.ping(ctx, stdout, stderr)
		},
	}
	table.SetHelp(c)
	return cli.Run(ctx, c, stdout, stderr, args...)
}

// ping opens the port and performs the role.
func (s *settings) ping(ctx context.Context, stdout, stderr io.Writer) (err error) {
	// A polling goroutine never releases its P; the other goroutines need another.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	observer, err := s.observe.Start("roce_rping")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, observer.Close(stderr)) }()
	host, err := observer.Open(s.device, goroce.Options{Addrs: s.addrs, Gateways: s.gateways,
		Idle: s.idle, Pcap: s.pcap, NewAlgorithm: s.control, CM: true})
	if err != nil {
		return err
	}
	if s.server {
		err = s.serve(ctx, host, stdout, stderr)
	} else {
		err = s.dial(ctx, host, stdout)
	}
	return errors.Join(err, host.Close())
}
