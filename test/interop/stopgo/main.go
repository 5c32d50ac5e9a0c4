// Command stopgo stops its flow before and within each message, as a virtual priority does that
// yields, probes the peer meanwhile, and resumes. The peer is a server of unmodified perftest
// (ib_write_bw, ib_send_bw, ib_read_bw), which does not know probes. It is a tool of bin/interop:
// when all messages are there it prints their address in the peer and their checksum, and waits for
// SIGTERM before it ends the handshake, so that the peer's memory can be checked.
//
// It imports the host, cc, transport and below, and perftest's handshake.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/connect/perftest"
	"github.com/goroce/goroce/units"
)

// settings are the command line.
type settings struct {
	device   string
	ip       netip.Prefix
	verb     perftest.Verb
	size     units.Bytes
	mtu      units.Bytes
	messages int
	probes   int // of each stop
	peer     string
}

var verbs = map[string]perftest.Verb{"write": perftest.Write, "send": perftest.Send,
	"read": perftest.Read}

func main() { os.Exit(run(cli.Interruptible(), os.Args[1:], os.Stdout, os.Stderr)) }

// run runs a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	c := s.command()
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		return s.run(ctx, c.Context().Done(), stdout)
	}
	return cli.Run(ctx, c, stdout, stderr, cli.SingleDash(c, args)...)
}

// command returns the command line, whose arguments are validated before it runs.
func (s *settings) command() *cobra.Command {
	c := &cobra.Command{Use: "stopgo [flags] PEER", Version: cli.Version(),
		Short: "Stop and resume messages to an unmodified perftest"}
	f := c.Flags()
	f.StringVarP(&s.device, "device", "d", "", "`port`, such as af_packet:eth0")
	ip := f.String("ip", "", "our `address` with its prefix length")
	verb := f.String("verb", "write", "write, send or read")
	size := f.Int64P("size", "s", int64(units.MiB), "`bytes` of a message")
	mtu := f.Int64P("mtu", "m", 4096, "path MTU, `bytes`")
	f.IntVarP(&s.messages, "messages", "n", 5, "`number` of messages")
	f.IntVar(&s.probes, "probes", 20, "`number` of probes at each stop")
	port := f.IntP("port", "p", 18515, "TCP `port` of the peer")
	c.Args = cli.Args(func(c *cobra.Command, args []string) error {
		return s.settle(*ip, *verb, *size, *mtu, *port, args)
	})
	return c
}

// settle validates the command line.
func (s *settings) settle(ip, verb string, size, mtu int64, port int, args []string) (err error) {
	var known bool
	s.verb, known = verbs[verb]
	s.size, s.mtu = units.Bytes(size), units.Bytes(mtu)
	s.ip, err = netip.ParsePrefix(ip)
	switch {
	case len(args) != 1:
		return fmt.Errorf("%d arguments, want one: the peer's address", len(args))
	case !known:
		err = fmt.Errorf("-verb %s: want write, send or read", verb)
	case err != nil:
		err = fmt.Errorf("-ip %q: %w", ip, err)
	case s.size < 4*s.mtu || s.size > units.GiB:
		err = fmt.Errorf("-s %d: want 4 packets of %d to 1 GiB", size, mtu)
	case s.messages < 1 || s.messages > maxMessages:
		err = fmt.Errorf("-n %d: want 1 to %d", s.messages, maxMessages)
	case s.probes < 1:
		err = fmt.Errorf("-probes %d: want at least 1", s.probes)
	}
	if err == nil {
		s.peer = net.JoinHostPort(args[0], fmt.Sprint(port))
	}
	return err
}
