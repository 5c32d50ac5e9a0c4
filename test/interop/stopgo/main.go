// Command stopgo stops its flow before and in the midst of each message, as a virtual priority does
// that has to yield, probes the peer meanwhile, and goes on. The peer is a server of unmodified
// perftest (ib_write_bw, ib_send_bw, ib_read_bw), which knows no probes. It is for bin/interop:
// when all messages are there it says where they are in the peer, and what they should be, and
// waits for SIGTERM before it says goodbye, so that somebody can look.
//
// It imports the host, cc, transport and below, and perftest's handshake.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

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

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "stopgo:", err)
		os.Exit(2)
	}
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGTERM, os.Interrupt)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := s.run(ctx, over, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stopgo:", err)
		os.Exit(1)
	}
}

func parse(args []string, errs io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("stopgo", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&s.device, "d", "", "`port`, such as af_packet:eth0")
	ip := f.String("ip", "", "our `address` with its prefix length")
	verb := f.String("verb", "write", "write, send or read")
	size := f.Int64("s", int64(units.MiB), "`bytes` of a message")
	mtu := f.Int64("m", 4096, "path MTU, `bytes`")
	f.IntVar(&s.messages, "n", 5, "`number` of messages")
	f.IntVar(&s.probes, "probes", 20, "`number` of probes at each stop")
	port := f.Int("p", 18515, "TCP `port` of the peer")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	var known bool
	s.verb, known = verbs[*verb]
	s.size, s.mtu = units.Bytes(*size), units.Bytes(*mtu)
	s.ip, err = netip.ParsePrefix(*ip)
	switch {
	case f.NArg() != 1:
		err = fmt.Errorf("%d arguments, not one: the peer's address", f.NArg())
	case !known:
		err = fmt.Errorf("-verb %s: write, send or read", *verb)
	case err != nil:
		err = fmt.Errorf("-ip %q: %w", *ip, err)
	case s.size < 4*s.mtu || s.size > units.GiB:
		err = fmt.Errorf("-s %d: 4 packets of %d to 1 GiB, or there is no midst", *size, *mtu)
	case s.messages < 1 || s.messages > maxMessages:
		err = fmt.Errorf("-n %d: 1 to %d", s.messages, maxMessages)
	case s.probes < 1:
		err = fmt.Errorf("-probes %d: 1 at least", s.probes)
	}
	s.peer = net.JoinHostPort(f.Arg(0), fmt.Sprint(*port))
	return s, err
}
