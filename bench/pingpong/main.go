package pingpong

import (
	"context"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
)

const name = "roce_rc_pingpong"

// Main is the program.
func Main() { os.Exit(run(cli.Interruptible(), os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the program with a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, w := defaults()
	table := s.table(w)
	c := &cobra.Command{
		Use: name + " [flags] [HOST]", Short: name + " exchanges SENDs as ibv_rc_pingpong does",
		Long: synopsis, Example: example, Args: cli.Args(cobra.MaximumNArgs(1)),
		Version: cli.Version(eal.Version()),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := s.settle(table, args); err != nil {
				return cli.Usage(err)
			}
			// A polling goroutine never releases its P; the other goroutines need another.
			runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), s.cores()+1))
			return s.run(ctx, stdout, stderr)
		},
	}
	table.SetHelp(c)
	return cli.Run(ctx, c, stdout, stderr, args...)
}
