// Roced gives one port to many programs of libibverbs and librdmacm: see docs/verbs-programs.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/metrics"
	"github.com/goroce/goroce/verbs/daemon"
	"github.com/goroce/goroce/verbs/engine"
	"github.com/goroce/goroce/verbs/settings"
)

func main() { os.Exit(run(cli.Interruptible(), os.Args[1:], os.Stdout, os.Stderr)) }

// options are the command line.
type options struct {
	settings.Settings
	ips, gateways []string
	socket        string
	group         string
	everyone      bool
	metrics       string
	watch         bool
	verbose       bool
}

const synopsis = `roced opens one port, and serves the programs of libibverbs and librdmacm that
connect to its socket: unmodified programs that roce_run starts, one or many. They share the
port's addresses, which roced prints, and reach each other, too.

It needs no privileges but those of its port. Programs may connect that its user or root has
started, with --group those of the members of a group.
`

const example = `  roced -d loop: &
  roce_run --daemon -- rping -s &
  roce_run --daemon -- rping -c -a ADDRESS -C 10    # with the address that roced has printed`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := &options{}
	c := &cobra.Command{
		Use: "roced -d URL [flags]", Short: "roced gives one port to many verbs programs",
		Long: synopsis, Example: example, Args: cli.NoArgs, Version: cli.Version(eal.Version()),
		RunE: func(*cobra.Command, []string) error { return o.serve(ctx, stdout, stderr) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVarP(&o.Port, "device", "d", "", "`URL` of the port, such as loop:, af_packet:eth0, "+
		"memif:/path/sock")
	f.StringVar(&o.socket, "socket", settings.UserSocket(), "`path` of the socket for programs")
	f.StringVar(&o.group, "group", "", "let members of this `group` connect (name or number)")
	f.BoolVar(&o.everyone, "everyone", false, "let every user connect who reaches the socket")
	f.StringSliceVar(&o.ips, "ip", nil, "`address` of the port, ADDR/LEN, repeatable (default one "+
		"of 198.18.0.0/15 that the URL decides)")
	f.StringSliceVar(&o.gateways, "gateway", nil, "next hop `address`, repeatable")
	f.StringVar(&o.CC, "cc", "", "congestion `control` of all queue pairs, such as swift")
	f.StringVar(&o.Faults, "faults", "", "inject `faults`, such as loss=0.1%,dup=1e-3,seed=7")
	f.StringVar(&o.Pcap, "pcap", "", "write the port's frames to this `file`")
	f.StringVar(&o.Idle, "idle", "",
		"`policy` of the polling core without work: sleep, pause, spin")
	f.StringVar(&o.EAL, "eal", "", "additional `arguments` for DPDK's EAL")
	f.StringVar(&o.metrics, "metrics", "", metrics.FlagHelp)
	f.BoolVar(&o.watch, "watch", false, "print what the queue pairs do, each second")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log programs that come and go")
	return cli.Run(ctx, c, stdout, stderr, args...)
}

// access returns who may connect.
func (o *options) access() (daemon.Access, error) {
	a := daemon.Access{Group: -1, Everyone: o.everyone}
	if o.group == "" {
		return a, nil
	}
	if o.everyone {
		return a, cli.Usage(errors.New("--group and --everyone exclude each other"))
	}
	id := o.group
	if g, err := user.LookupGroup(o.group); err == nil {
		id = g.Gid
	}
	n, err := strconv.ParseUint(id, 10, 31)
	if err != nil {
		return a, cli.Usage(fmt.Errorf("--group %q: no such group", o.group))
	}
	a.Group = int(n)
	return a, nil
}

// serve serves programs until it is interrupted.
func (o *options) serve(ctx context.Context, stdout, stderr io.Writer) error {
	if o.Port == "" {
		return cli.Usage(errors.New("no port; want -d loop: or another URL"))
	}
	o.IP, o.Gateway = strings.Join(o.ips, ","), strings.Join(o.gateways, ",")
	if err := o.Check(); err != nil {
		return cli.Usage(err)
	}
	if err := metrics.CheckAddr("--metrics", o.metrics); err != nil {
		return cli.Usage(err)
	}
	access, err := o.access()
	if err != nil {
		return err
	}
	// A polling goroutine never releases its P; the other goroutines need another.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	monitor, err := metrics.Start(o.metrics)
	if err != nil {
		return err
	}
	defer monitor.Close()
	listener, err := daemon.Listen(o.socket, access)
	if err != nil {
		return err
	}
	e, err := engine.OpenSettings(&o.Settings)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	monitor.Add(e.Host())
	return o.accept(ctx, listener, e, stdout, stderr)
}

// accept serves on an open port. The end by a signal is a success.
func (o *options) accept(ctx context.Context, l *daemon.Listener, e *engine.Engine, stdout,
	stderr io.Writer) error {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	served := make(chan error, 1)
	go func() { served <- l.Serve(e, log) }()
	for _, a := range e.Host().Addrs() {
		fmt.Fprintf(stdout, "roced: address %v on %s, socket %s\n", a.Addr(), o.Port, o.socket)
	}
	if o.watch {
		defer e.Watch(stderr, time.Second)()
	}
	var err error
	select {
	case <-ctx.Done():
		err = l.Close()
		<-served
	case err = <-served:
		err = errors.Join(err, l.Close())
	}
	e.Linger()
	return errors.Join(err, e.Close())
}
