// Command roce_impair forwards between two ports and impairs RoCEv2 packets by rules. See
// docs/impair.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/impair"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/units"
)

func main() { os.Exit(run(cli.Interruptible(), os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the program with a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, command(), stdout, stderr, args...)
}

// settings is the command line.
type settings struct {
	devices  []string
	rules    string
	json     string
	eal      string
	duration time.Duration
	check    bool
	seed     uint64
	seeded   bool // --seed is given
}

func command() *cobra.Command {
	s := &settings{}
	c := &cobra.Command{
		Use:   "roce_impair -d PORT_A -d PORT_B --rules FILE",
		Short: "Forward between two ports and impair RoCEv2 packets by rules, reproducibly",
		Long: "Forwards all frames between two ports until it is interrupted, and loses, " +
			"duplicates, reorders,\ncorrupts, delays or marks RoCEv2 packets, limits their " +
			"rate, or adds CNPs and pauses, as the\nrules say. At the end it prints what each " +
			"rule did. See docs/impair.md.",
		Example: "  roce_impair -d af_packet:eth0 -d af_packet:eth1 --rules rules.yaml " +
			"--json -",
		Args: cli.NoArgs, Version: cli.Version(eal.Version()),
		RunE: func(c *cobra.Command, _ []string) error {
			s.seeded = c.Flags().Changed("seed")
			return s.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&s.devices, "ib-dev", "d", nil, "`URL` of a port, twice: port a, then port b")
	f.StringVar(&s.rules, "rules", "", "`file` with the rules")
	f.StringVar(&s.json, "json", "", "write the report to this `file`, - for standard output")
	f.DurationVarP(&s.duration, "duration", "D", 0, "stop after this `time`; 0: when interrupted")
	f.StringVar(&s.eal, "eal", "", "additional `arguments` for DPDK's EAL")
	f.Uint64Var(&s.seed, "seed", 0, "`number` from which all chance comes, in place of the file's")
	f.BoolVar(&s.check, "check", false, "check the rules, and forward nothing")
	return c
}

func (s *settings) run(ctx context.Context, out, messages io.Writer) error {
	rules := &impair.Rules{}
	if s.rules != "" {
		var err error
		if rules, err = impair.Load(s.rules); err != nil {
			return err
		}
	}
	if s.seeded {
		rules.Seed = s.seed
	}
	if s.check {
		fmt.Fprintf(out, "%s: %d rules\n", s.rules, len(rules.Rules))
		return nil
	}
	if len(s.devices) != 2 {
		return cli.Usage(fmt.Errorf("-d is given %d times, want two ports", len(s.devices)))
	}
	if s.duration < 0 {
		return cli.Usage(fmt.Errorf("-D %v: want 0 or more", s.duration))
	}
	running := ctx
	if s.duration > 0 {
		var cancel context.CancelFunc
		running, cancel = context.WithTimeout(ctx, s.duration)
		defer cancel()
	}
	log := slog.New(slog.NewTextHandler(messages, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var devices [2]*dpdk.Device
	for i, url := range s.devices {
		d, err := dpdk.Open(url, dpdk.Options{Promiscuous: true, Logger: log, ExtraEAL: s.eal})
		if err != nil {
			return errors.Join(err, closeAll(devices[:i]))
		}
		devices[i] = d
	}
	box := impair.New(rules, devices[0].Queue(0), devices[1].Queue(0))
	fmt.Fprintf(messages, "roce_impair: forwarding between %s and %s with %d rules\n", s.devices[0],
		s.devices[1], len(rules.Rules))
	forward(running, box)
	report := box.Report()
	err := errors.Join(s.write(out, &report), closeAll(devices[:]))
	if err == nil && s.duration > 0 {
		err = context.Cause(ctx) // a signal is the usual end only of a run without -D
	}
	return err
}

func closeAll(devices []*dpdk.Device) (err error) {
	for _, d := range devices {
		err = errors.Join(err, d.Close())
	}
	return err
}

// The poll loop naps when nothing has arrived for a while.
const (
	patience = 200 * time.Microsecond
	nap      = 50 * time.Microsecond
)

// forward forwards until the context ends.
func forward(ctx context.Context, box *impair.Box) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	quiet := start
	for ctx.Err() == nil {
		now := time.Now()
		frames, next := box.Poll(units.Time(units.FromStd(now.Sub(start))) + 1)
		if frames > 0 {
			quiet = now
			continue
		}
		due := next != 0 && units.Duration(next).Std() < now.Sub(start)+nap
		if now.Sub(quiet) > patience && !due {
			time.Sleep(nap)
		}
	}
}

// write writes the report as text, and as JSON if that is wanted.
func (s *settings) write(out io.Writer, r *impair.Report) error {
	if s.json == "-" {
		return encode(out, r)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "from\tframes\tRoCEv2\tsent\tlost\tduplicated\treordered\tcorrupted\tdelayed\t"+
		"queue full\tmarked\tCNPs\tpauses\t")
	for i, c := range []impair.Counts{r.A, r.B} {
		fmt.Fprintf(t, "%c\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", 'a'+i, c.Frames,
			c.RoCE, c.Sent, c.Lost, c.Duplicated, c.Reordered, c.Corrupted, c.Delayed, c.QueueFull,
			c.Marked, c.CNPs, c.Pauses)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, rule := range r.Rules {
		fmt.Fprintf(out, "%s: applied to %d of %d packets\n", rule.Name, rule.Applied, rule.Matched)
	}
	if s.json == "" {
		return nil
	}
	file, err := os.Create(s.json)
	if err != nil {
		return err
	}
	return errors.Join(encode(file, r), file.Close())
}

func encode(w io.Writer, r *impair.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
