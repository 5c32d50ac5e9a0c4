package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

// options are the command line.
type options struct {
	full    bool
	run     *regexp.Regexp
	size    string // of the matrix
	pattern string
	list    bool
	keep    bool
	verbose bool
	figures bool
	rounds  int
	page    string

	differential bool
	seeds        int
	first        uint64
	replay       string
}

// inside is the environment variable that is set in the guests' namespace.
const inside = "GOROCE_INTEROP_INSIDE"

const long = `interop runs goroce against Linux's soft-RoCE, perftest and rping in a virtual
machine. It exits with 0 if every cell passes; its last line is "N passed, M failed".`

func main() { os.Exit(execute(cli.Interruptible(), os.Args[1:])) }

func execute(ctx context.Context, args []string) int {
	var o options
	c := o.command()
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := o.check(); err != nil {
			return cli.Usage(err)
		}
		return do(c.Context(), o)
	}
	return cli.Run(ctx, c, os.Stdout, os.Stderr, cli.SingleDash(c, args)...)
}

// parse parses a command line.
func parse(args []string) (options, error) {
	var o options
	c := o.command()
	err := c.ParseFlags(cli.SingleDash(c, args))
	if err == nil {
		err = o.check()
	}
	return o, err
}

// command declares the flags.
func (o *options) command() *cobra.Command {
	f := flag.NewFlagSet("interop", flag.ContinueOnError)
	f.StringVar(&o.size, "matrix", "quick",
		"`size`: quick, a covering subset; full, every cell, which takes hours")
	f.StringVar(&o.pattern, "run", "", "only what `regexp` matches; --list shows the names")
	f.BoolVar(&o.list, "list", false, "print the names and run nothing")
	f.BoolVar(&o.keep, "keep", false, "leave the guests running")
	f.BoolVar(&o.verbose, "v", false, "print command lines and outputs of both ends of each cell")
	f.BoolVar(&o.figures, "figures", false,
		"instead of the matrix, measure rxe-rxe, goroce-rxe and goroce-goroce")
	f.IntVar(&o.rounds, "rounds", 5, "with --figures: `number` of runs per median")
	f.StringVar(&o.page, "doc", "",
		"write the results into the marked places of this `file`")
	o.differentialFlags(f)
	c := &cobra.Command{Use: "interop [flags]", Short: "Run goroce against Linux's soft-RoCE",
		Long: long, Args: cli.NoArgs}
	c.Flags().AddGoFlagSet(f)
	return c
}

// check validates the flags and completes the options.
func (o *options) check() (err error) {
	switch {
	case o.size != "quick" && o.size != "full":
		err = fmt.Errorf("--matrix %s: want quick or full", o.size)
	case o.rounds < 1 || o.rounds > 100:
		err = fmt.Errorf("--rounds %d: want 1 to 100", o.rounds)
	case o.seeds < 1:
		err = fmt.Errorf("--seeds %d: want at least 1", o.seeds)
	case o.figures && (o.differential || o.replay != ""):
		err = errors.New("--figures and --differential: want only one of them")
	default:
		if o.run, err = regexp.Compile(o.pattern); err != nil {
			err = fmt.Errorf("--run: %w", err)
		}
	}
	o.full = o.size == "full"
	o.differential = o.differential || o.replay != ""
	return err
}

// differentialFlags declares the flags of -differential.
func (o *options) differentialFlags(f *flag.FlagSet) {
	f.BoolVar(&o.differential, "differential", false,
		"instead of the matrix, send rxe and goroce the same packets and compare the responses")
	f.IntVar(&o.seeds, "seeds", 100, "with --differential: `number` of cases")
	f.Uint64Var(&o.first, "first", 1, "with --differential: first `seed`")
	f.StringVar(&o.replay, "replay", "",
		"with --differential: run only the case in a `file` saved by a failure")
}

// do executes the command line.
func do(ctx context.Context, o options) error {
	s := selection(o)
	if s.empty() && !o.figures && !o.differential {
		return cli.Usage(fmt.Errorf("--run %v matches nothing; --list prints the names", o.run))
	}
	if o.list {
		s.list(os.Stdout)
		return nil
	}
	if o.replay != "" {
		if _, err := os.Stat(o.replay); err != nil {
			return cli.Usage(fmt.Errorf("--replay: %w", err))
		}
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	if os.Getenv(inside) == "" {
		return outside(ctx, root, o)
	}
	l, err := open(root, o.figures, s.impaired() && !o.differential)
	if err != nil {
		return err
	}
	defer l.close()
	if err = l.work(ctx, o, s); errors.Is(err, errSomeFailed) {
		return cli.ErrReported
	}
	return err
}

// work executes the command line in the guests' namespace.
func (l *lab) work(ctx context.Context, o options, s selected) error {
	switch {
	case o.figures:
		return l.figures(ctx, o, os.Stdout)
	case o.differential:
		return l.differential(ctx, o, os.Stdout)
	}
	if err := l.needs(s.cells); err != nil {
		return err
	}
	r := &run{lab: l, out: os.Stdout, verbose: o.verbose}
	r.all(ctx, s)
	return r.close(ctx, o)
}

// checkout returns the directory that contains scripts/interop: the parent of bin/interop, or the
// current one.
func checkout() (string, error) {
	candidates := []string{"."}
	if exe, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(exe), ".."))
	}
	for _, dir := range candidates {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(dir, "scripts/interop/lan.sh")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("scripts/interop is neither in the current directory nor beside bin/")
}

// outside boots the guests, runs this command again in their namespace, and shuts them down.
func outside(ctx context.Context, root string, o options) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("needs root, for a network namespace and taps")
	}
	scripts := filepath.Join(root, "scripts/interop")
	up := exec.CommandContext(ctx, scripts+"/up")
	if o.figures {
		up.Args = append(up.Args, "--pair")
	}
	gentle(up)
	if err := up.Run(); err != nil {
		return fmt.Errorf("scripts/interop/up: %w", err)
	}
	if !o.keep {
		defer func() {
			down := exec.Command(scripts + "/down")
			down.Stderr = os.Stderr
			if e := down.Run(); e != nil {
				err = errors.Join(err, fmt.Errorf("scripts/interop/down: %w", e))
			}
		}()
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	again := exec.CommandContext(ctx, scripts+"/inside", append([]string{exe}, os.Args[1:]...)...)
	again.Env = append(os.Environ(), inside+"=1")
	gentle(again)
	again.Stdout = os.Stdout
	err = again.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return cli.ErrReported
	}
	return err
}

// gentle connects a command to our standard error and makes it end by SIGTERM. It has a process
// group of its own, so that a terminal's interrupt reaches it only through us.
func gentle(cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}
