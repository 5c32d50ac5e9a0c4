package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

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
	Report func(stdout io.Writer) error
}

// Main is the main function of the program.
func (i *Instrument) Main() {
	exit(func(ctx context.Context) int { return i.Run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

// Run runs the program with a command line and returns the exit code.
func (i *Instrument) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := i.parse(args)
	switch {
	case errors.Is(err, errHelp):
		i.help(stdout)
		return exitOK
	case errors.Is(err, errVersion):
		fmt.Fprintf(stdout, "%s: goroce %s, %s, %s\n", i.Name, version(), eal.Version(),
			runtime.Version())
		return exitOK
	}
	if err == nil {
		_, err = run(ctx, s, &console{err: stderr, settings: s})
	}
	if err == nil && s.instrument != nil {
		err = i.Report(stdout)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(context.Cause(ctx), errInterrupted):
		printError(stderr, i.Name, errInterrupted)
		return exitInterrupted
	}
	printError(stderr, i.Name, err)
	return exitFailed
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

func (i *Instrument) parse(args []string) (*Settings, error) {
	s, x := i.settings(), &extras{}
	all := i.table(s, x).FlagSet(i.Name)
	all.SetNormalizeFunc(normalizeFlags(all))
	switch err := all.Parse(args); {
	case err != nil:
		return nil, suggestFlags(err, all)
	case x.help:
		return nil, errHelp
	case x.version:
		return nil, errVersion
	case all.NArg() > 1:
		return nil, fmt.Errorf("%s: want at most one server", strings.Join(all.Args(), " "))
	}
	s.Host = all.Arg(0)
	if s.MTU > 0 {
		s.Size = s.MTU
	}
	if s.inProcess() && !all.Changed("qp-timeout") {
		s.QPTimeout = loopQPTimeout
	}
	s.complete()
	if err := s.validate(); err != nil {
		return nil, err
	}
	var err error
	if s.inProcess() || s.Host != "" {
		s.instrument, err = i.Control(s.Iters)
	}
	return s, err
}

func (i *Instrument) help(w io.Writer) {
	fmt.Fprintf(w, "%s %s\n\n", i.Name, i.What)
	fmt.Fprintf(w, "  %-36s both ends in this process, over loop:\n", i.Name+" [flags]")
	fmt.Fprintf(w, "  %-36s the server: waits for one client\n", i.Name+" -d URL [flags]")
	fmt.Fprintf(w, "  %-36s the client, which measures. The server may be roce_write_bw or\n",
		i.Name+" -d URL [flags] HOST")
	fmt.Fprintf(w, "  %-36s linux-rdma's ib_write_bw, with the same -n, and -s %d or the value "+
		"of -m\n",
		"", packet)
	fmt.Fprint(w, i.table(i.settings(), &extras{}).Usage(helpWidth))
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
