package perftest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
)

// Instrument is a program that measures the path to a peer with a congestion control of its own,
// over the session of a bandwidth test of WRITEs. The server may be the same program,
// roce_write_bw, or linux-rdma's ib_write_bw: it sees a test with few outstanding messages.
type Instrument struct {
	Name, What string // What describes the measurement for --help
	Messages   int    // default of --iters
	Flags      func() []cli.Flag
	// Control makes the congestion control of the client's queue pair for a run of the given number
	// of messages.
	Control func(messages int) (cc.Factory, error)
	// Report is called at the client when the run has ended.
	Report func(stdout, stderr io.Writer) error
}

// Main is the main function of the program.
func (i *Instrument) Main() {
	exit(func(ctx context.Context) int { return i.Run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

// Run runs the program with a command line and returns the exit code.
func (i *Instrument) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, i.command(), stdout, stderr, args...)
}

func (i *Instrument) command() *cobra.Command {
	s, x := i.settings(), &extras{}
	c := &cobra.Command{
		Use: i.Name + " [flags] [HOST]", Short: i.Name + " measures the path to a peer",
		Long: i.synopsis(), Args: cobra.ArbitraryArgs, Version: cli.Version(eal.Version()),
		RunE: func(c *cobra.Command, args []string) error {
			if err := i.settle(s, c.Flags(), args); err != nil {
				return cli.Usage(err)
			}
			_, err := run(c.Context(), s, &console{err: c.ErrOrStderr(), settings: s})
			if err == nil && s.instrument != nil {
				err = i.Report(c.OutOrStdout(), c.ErrOrStderr())
			}
			return err
		},
	}
	i.table(s, x).SetHelp(c)
	cli.NormalizeFlags(c.Flags())
	return c
}

// table declares the instrument's own flags, and those of a bandwidth test that it shares.
func (i *Instrument) table(s *Settings, x *extras) *cli.Table {
	test := s.table(x)
	iters, rate := *test.Flag("iters"), *test.Flag("line-rate")
	iters.Help = "`number` of one-packet messages; the same at both ends"
	rate.Help = "`rate` of the port (default what the port reports, else 100Gb/s)"
	var session []cli.Flag
	for _, name := range []string{"port", "mtu", "gid-index", "upstream", "rdma_cm",
		"connect-timeout", "tclass", "ack-tclass", "qp-timeout", "retry_count"} {
		session = append(session, *test.Flag(name))
	}
	return &cli.Table{Groups: []cli.Group{
		{Title: "Measurement", Flags: append([]cli.Flag{iters, rate}, i.Flags()...)},
		{Title: "Session (as roce_write_bw's)", Flags: session},
		{Title: "Port", Flags: s.portFlags()},
		{Title: "Other", Flags: []cli.Flag{*test.Flag("version"), *test.Flag("help")}},
	}}
}

// packet is the default message size without --mtu: the largest packet.
const packet = 4096

// settings returns the defaults.
func (i *Instrument) settings() *Settings {
	s := defaults(Test{Write, Bandwidth})
	s.Iters, s.Size = i.Messages, packet
	return s
}

// settle completes and validates the settings after their flags have been parsed.
func (i *Instrument) settle(s *Settings, all *pflag.FlagSet, rest []string) error {
	if len(rest) > 1 {
		return fmt.Errorf("%s: want at most one server", strings.Join(rest, " "))
	}
	s.Host = all.Arg(0)
	if s.MTU > 0 {
		s.Size = s.MTU
	}
	if s.inProcess() && !all.Changed("qp-timeout") {
		s.QPTimeout = loopQPTimeout
	}
	s.complete()
	own := cli.Table{Groups: []cli.Group{{Flags: i.Flags()}}}
	err := s.validate()
	if err == nil {
		err = own.Validate()
	}
	if err == nil && (s.inProcess() || s.Host != "") {
		s.instrument, err = i.Control(s.Iters)
	}
	return err
}

// synopsis is the text of the help before the flags.
func (i *Instrument) synopsis() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s %s\n\n", i.Name, i.What)
	fmt.Fprintf(b, "  %-36s both ends in this process, over loop:\n", i.Name+" [flags]")
	fmt.Fprintf(b, "  %-36s the server: waits for one client\n", i.Name+" -d URL [flags]")
	fmt.Fprintf(b, "  %-36s the client, which measures\n\n", i.Name+" -d URL [flags] HOST")
	fmt.Fprintf(b, "The server may be roce_write_bw or linux-rdma's ib_write_bw, with the same "+
		"-n, and -s %d\nor the value of -m.", packet)
	return b.String()
}

// withoutInstrument returns the settings of the end that does not measure.
func (s *Settings) withoutInstrument() *Settings {
	if s.instrument == nil {
		return s
	}
	other := *s
	other.instrument = nil
	return &other
}
