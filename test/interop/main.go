package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// options are the command line.
type options struct {
	full    bool
	run     *regexp.Regexp
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

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(exitOK)
	case err != nil:
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := do(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
	}
	os.Exit(code)
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("interop", flag.ContinueOnError)
	size := f.String("matrix", "quick",
		"quick: a covering subset; full: every cell, which takes hours")
	pattern := f.String("run", "", "only what `regexp` matches; -list shows the names")
	f.BoolVar(&o.list, "list", false, "print the names and run nothing")
	f.BoolVar(&o.keep, "keep", false, "leave the guests running")
	f.BoolVar(&o.verbose, "v", false, "print command lines and outputs of both ends of each cell")
	f.BoolVar(&o.figures, "figures", false,
		"instead of the matrix, measure rxe-rxe, goroce-rxe and goroce-goroce")
	f.IntVar(&o.rounds, "rounds", 5, "with -figures: `number` of runs per median")
	f.StringVar(&o.page, "doc", "",
		"write the results into the marked places of this `file`")
	o.differentialFlags(f)
	f.Usage = func() {
		fmt.Fprint(f.Output(), "interop runs goroce against Linux's soft-RoCE, perftest and "+
			"rping in a virtual machine.\n"+
			"It exits with 0 if every cell passes; its last line is \"N passed, M "+
			"failed\".\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("unexpected arguments %q, want flags only", f.Args())
	case *size != "quick" && *size != "full":
		err = fmt.Errorf("-matrix %s: want quick or full", *size)
	case o.rounds < 1 || o.rounds > 100:
		err = fmt.Errorf("-rounds %d: want 1 to 100", o.rounds)
	case o.seeds < 1:
		err = fmt.Errorf("-seeds %d: want at least 1", o.seeds)
	case o.figures && (o.differential || o.replay != ""):
		err = errors.New("-figures and -differential: want only one of them")
	default:
		if o.run, err = regexp.Compile(*pattern); err != nil {
			err = fmt.Errorf("-run: %w", err)
		}
	}
	o.full = *size == "full"
	o.differential = o.differential || o.replay != ""
	return o, err
}

// differentialFlags declares the flags of -differential.
func (o *options) differentialFlags(f *flag.FlagSet) {
	f.BoolVar(&o.differential, "differential", false,
		"instead of the matrix, send rxe and goroce the same packets and compare the responses")
	f.IntVar(&o.seeds, "seeds", 100, "with -differential: `number` of cases")
	f.Uint64Var(&o.first, "first", 1, "with -differential: first `seed`")
	f.StringVar(&o.replay, "replay", "",
		"with -differential: run only the case in a `file` saved by a failure")
}

// do executes the command line and returns the exit code.
func do(ctx context.Context, o options) (int, error) {
	s := selection(o)
	if s.empty() && !o.figures && !o.differential {
		return exitUsage, fmt.Errorf("-run %v matches nothing; -list prints the names", o.run)
	}
	if o.list {
		s.list(os.Stdout)
		return exitOK, nil
	}
	if o.replay != "" {
		if _, err := os.Stat(o.replay); err != nil {
			return exitUsage, fmt.Errorf("-replay: %w", err)
		}
	}
	root, err := checkout()
	if err != nil {
		return exitFailed, err
	}
	if os.Getenv(inside) == "" {
		return outside(ctx, root, o)
	}
	l, err := open(root, o.figures, s.impaired() && !o.differential)
	if err != nil {
		return exitFailed, err
	}
	defer l.close()
	err = l.work(ctx, o, s)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted, errors.New("interrupted")
	case errors.Is(err, errSomeFailed):
		return exitFailed, nil // already reported
	case err != nil:
		return exitFailed, err
	}
	return exitOK, nil
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
func outside(ctx context.Context, root string, o options) (code int, err error) {
	if os.Geteuid() != 0 {
		return exitFailed, errors.New("needs root, for a network namespace and taps")
	}
	scripts := filepath.Join(root, "scripts/interop")
	up := exec.CommandContext(ctx, scripts+"/up")
	if o.figures {
		up.Args = append(up.Args, "--pair")
	}
	gentle(up)
	if err := up.Run(); err != nil {
		return exitFailed, fmt.Errorf("scripts/interop/up: %w", err)
	}
	if !o.keep {
		defer func() {
			down := exec.Command(scripts + "/down")
			down.Stderr = os.Stderr
			if e := down.Run(); e != nil {
				code, err = max(code, exitFailed), errors.Join(err,
					fmt.Errorf("scripts/interop/down: %w", e))
			}
		}()
	}
	exe, err := os.Executable()
	if err != nil {
		return exitFailed, err
	}
	again := exec.CommandContext(ctx, scripts+"/inside", append([]string{exe}, os.Args[1:]...)...)
	again.Env = append(os.Environ(), inside+"=1")
	gentle(again)
	again.Stdout = os.Stdout
	err = again.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil // already reported
	}
	if err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}

// gentle connects a command to our standard error and makes it end by SIGTERM. It has a process
// group of its own, so that a terminal's interrupt reaches it only through us.
func gentle(cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}
