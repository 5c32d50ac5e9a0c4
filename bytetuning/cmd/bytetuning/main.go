// Command bytetuning finds ECN and PFC watermarks for RoCEv2 switches, checks them, and says them
// in the words of switches: see --help.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

// program is what a command line runs in.
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
		Long: `bytetuning finds Kmin, Kmax, Pmax, headroom and alpha that beat what is configured, by simulated
annealing (ByteTuning, IEEE TCC 2025), on a model, a simulated fabric, or switches.

  bytetuning tune --target fabric:2to1 --budget 200 --out /tmp/bt   search; /tmp/bt/report.html
  bytetuning check /tmp/bt/best.yaml                                is it one of the paper's three mistakes?
  bytetuning render --dialect sonic /tmp/bt/best.yaml               as a switch wants it
  bytetuning fluid --flows 8 --start 40G --out /tmp/bt              the model of DCQCN, ECN and PFC

It exits with 0 when all went well, with 1 when something failed or was found, and with 2 when the command line
makes no sense.`,
	}
	root.AddCommand(p.tuneCommand(), p.checkCommand(), p.renderCommand(), p.fluidCommand())
	return root
}
