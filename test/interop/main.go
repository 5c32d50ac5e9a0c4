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

// inside says, in the environment, that we are in the guests' namespace.
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
	f.BoolVar(&o.list, "list", false, "print the names, and run nothing")
	f.BoolVar(&o.keep, "keep", false, "leave the guests up")
	f.BoolVar(&o.verbose, "v", false, "print what both ends of each cell were told and said")
	f.BoolVar(&o.figures, "figures", false,
		"instead of the matrix, measure rxe-rxe, goroce-rxe and goroce-goroce")
	f.IntVar(&o.rounds, "rounds", 5, "of -figures: `number` of runs that a median is of")
	f.StringVar(&o.page, "doc", "",
		"write what came of it into this `file`, where it has a place for it")
	o.differentialFlags(f)
	f.Usage = func() {
		fmt.Fprint(f.Output(), "interop runs goroce against Linux's soft-RoCE, perftest and "+
			"rping in a virtual machine.\n"+
			"It exits with 0 when every cell went well; its last line is \"N passed, M "+
			"failed\".\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("unexpected %q", f.Args())
	case *size != "quick" && *size != "full":
		err = fmt.Errorf("-matrix %s: quick or full", *size)
	case o.rounds < 1 || o.rounds > 100:
		err = fmt.Errorf("-rounds %d: 1 to 100", o.rounds)
	case o.seeds < 1:
		err = fmt.Errorf("-seeds %d: 1 at least", o.seeds)
	case o.figures && (o.differential || o.replay != ""):
		err = errors.New("-figures and -differential: one of them")
	default:
		o.run, err = regexp.Compile(*pattern)
	}
	o.full = *size == "full"
	o.differential = o.differential || o.replay != ""
	return o, err
}

// differentialFlags are those of -differential.
func (o *options) differentialFlags(f *flag.FlagSet) {
	f.BoolVar(&o.differential, "differential", false,
		"instead of the matrix, send rxe and goroce the same packets, good and bad, and compare")
	f.IntVar(&o.seeds, "seeds", 100, "of -differential: `number` of cases")
	f.Uint64Var(&o.first, "first", 1, "of -differential: `seed` of the first")
	f.StringVar(&o.replay, "replay", "",
		"of -differential: run the case in a `file` that a failure left, and no other")
}

// do does what the command line says, and answers the exit code.
func do(ctx context.Context, o options) (int, error) {
	s := selection(o)
	if o.list {
		s.list(os.Stdout)
		return exitOK, nil
	}
	if s.empty() && !o.figures && !o.differential {
		return exitUsage, fmt.Errorf("-run %v: matches nothing; -list shows the names", o.run)
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
		return exitFailed, nil // it has been said
	case err != nil:
		return exitFailed, err
	}
	return exitOK, nil
}

// work does it in the guests' namespace.
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

// checkout is the directory that scripts/interop is in: that of bin/interop, or the current one.
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
	return "", errors.New("scripts/interop is neither here nor beside the program")
}

// outside boots the guests, runs the same again in their namespace, and takes them down.
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
		return exit.ExitCode(), nil // it has said why
	}
	if err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}

// gentle has a command say on our standard error what it says, and end by SIGTERM. It has a process
// group of its own, so that a terminal's interrupt reaches it through us, once.
func gentle(cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}
