package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/dpdk/eal"
)

// Instrument is a program that measures the path to a peer with a congestion control of its own,
// over the session of a bandwidth test of WRITEs. The server may be the same program,
// roce_write_bw, or linux-rdma's ib_write_bw: it sees a test with few outstanding messages.
type Instrument struct {
	Name, What string // What describes the measurement for --help
	Messages   int    // default of --iters
	Flags      func(*pflag.FlagSet)
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

// groups returns the relevant flags of a bandwidth test and the instrument's own.
func (i *Instrument) groups(s *Settings, x *extras) []group {
	var gs []group
	add := func(title string, bind func(*pflag.FlagSet)) {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		bind(fs)
		gs = append(gs, group{title, fs})
	}
	add("Measurement", func(f *pflag.FlagSet) {
		f.IntVarP(&s.Iters, "iters", "n", s.Iters,
			"`number` of one-packet messages; the same at both ends")
		f.Var((*bitRate)(&s.LineRate), "line-rate",
			"`rate` of the port (default what the port reports, else 100Gb/s)")
		f.Lookup("line-rate").DefValue = "0"
		i.Flags(f)
	})
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.sessionFlags(all)
	s.qosFlags(all, x)
	add("Session (as roce_write_bw's)", func(f *pflag.FlagSet) {
		for _, name := range []string{"port", "mtu", "gid-index", "upstream", "rdma_cm",
			"connect-timeout", "tclass", "ack-tclass", "qp-timeout", "retry_count"} {
			f.AddFlag(all.Lookup(name))
		}
	})
	add("Port", s.portFlags)
	add("Other", func(f *pflag.FlagSet) {
		f.BoolVarP(&x.version, "version", "V", false, "print the version")
		f.BoolVarP(&x.help, "help", "h", false, "print this help")
	})
	return gs
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
	all := pflag.NewFlagSet(i.Name, pflag.ContinueOnError)
	all.Usage = func() {}
	for _, g := range i.groups(s, x) {
		all.AddFlagSet(g.FlagSet)
	}
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
	fmt.Fprintf(w, "  %-36s linux-rdma's ib_write_bw, with the same -n, and -s %d or the value of -m\n", "", packet)
	for _, g := range i.groups(i.settings(), &extras{}) {
		fmt.Fprintf(w, "\n%s:\n%s", g.title, g.FlagUsagesWrapped(110))
	}
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
