// Command bytetuning finds ECN and PFC watermarks for RoCEv2 switches, checks them, and translates
// them into switch configuration: see --help.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

// program holds the output streams of a command line.
type program struct {
	out, errs io.Writer
}

func main() {
	p := &program{os.Stdout, os.Stderr}
	os.Exit(p.run(cli.Interruptible(), os.Args[1:]...))
}

// run executes a command line and returns the exit code.
func (p *program) run(ctx context.Context, args ...string) int {
	return cli.Run(ctx, p.command(), p.out, p.errs, args...)
}

func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "bytetuning",
		Short: "Tune ECN and PFC watermarks of RoCEv2 switches",
		Long: `bytetuning improves the configured Kmin, Kmax, Pmax, headroom and alpha by
simulated annealing (ByteTuning, IEEE TCC 2025), on a model, a simulated fabric,
or switches.

To search for better watermarks, with a report in /tmp/bt/report.html:
  bytetuning tune --target fabric:2to1 --budget 200 --out /tmp/bt
To find the paper's three misconfigurations:
  bytetuning check /tmp/bt/best.yaml
To write a switch's configuration:
  bytetuning render --dialect sonic /tmp/bt/best.yaml
To integrate the model of DCQCN, ECN and PFC:
  bytetuning fluid --flows 8 --start 40G --out /tmp/bt

The exit code is 0 on success, 1 after a failure or a finding, and 2 for an
invalid command line.`,
	}
	root.AddCommand(p.tuneCommand(), p.checkCommand(), p.renderCommand(), p.fluidCommand())
	return root
}
