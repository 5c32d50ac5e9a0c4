// Command fig8 is figure 8 of the PrioPlus paper with real endpoints in real time: see --help.
//
// A [testbed] is endpoints on DPDK ports and a switch between them: the fabric's, which one core
// advances to the present in each round, between polls of the endpoints. A [bridge] joins a port to
// a
// host of the network. First the idle path is measured (bench/channels); then a [scenario] is run
// with PrioPlus in the channels that follow from that, and with Swift alone.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
)

const name = "fig8"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	s := defaults()
	c := &cobra.Command{
		Use: name + " [flags]", Short: "Figure 8 of the PrioPlus paper over DPDK ports",
		Long: `fig8 lets flows of several virtual priorities share a link in real time, over DPDK
ports: figure 8 of the PrioPlus paper. One core polls all endpoints and the switch between them.`,
		Args: cli.NoArgs, Version: cli.Version(eal.Version()),
		RunE: func(*cobra.Command, []string) error {
			if err := s.validate(); err != nil {
				return cli.Usage(err)
			}
			// the polling goroutine never yields its P
			runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
			return s.show(stdout)
		},
	}
	c.Flags().SortFlags = false
	c.Flags().AddFlagSet(s.flags())
	return cli.Run(context.Background(), c, stdout, stderr, args...)
}

// show measures, runs, prints and draws.
func (s *settings) show(w io.Writer) error {
	fmt.Fprintf(w, "the idle path, %v to the receiver, %v a link:\n\n", s.Rate, s.Delay)
	sv, err := s.survey()
	if err != nil {
		return err
	}
	if err := sv.Write(w); err != nil {
		return err
	}
	if s.competes != nil {
		fmt.Fprintf(w, "\n%v: other programs compete for the polling core\n", s.competes)
	}
	variants := []bool{true}
	if s.Alone {
		variants = append(variants, false)
	}
	for _, plus := range variants {
		title := "PrioPlus"
		if !plus {
			title = "Swift alone"
		}
		sc, err := s.run(title, plus, sv)
		if err != nil {
			return err
		}
		if err := s.write(w, sc); err != nil {
			return err
		}
		files, err := s.draw(sc)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "drawn: %s\n", strings.Join(files, ", "))
	}
	return nil
}
