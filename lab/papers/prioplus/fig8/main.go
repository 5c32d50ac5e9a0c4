// Command fig8 is figure 8 of the PrioPlus paper with real endpoints in real time: see --help.
//
// A [testbed] is endpoints on DPDK ports and a switch between them: the fabric's, which one core
// advances to the present in each round, between polls of the endpoints. A [bridge] joins a port to
// a
// host of the network. First the idle path is measured (bench/channels); then a [scenario] is run
// with PrioPlus in the channels that follow from that, and with Swift alone.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
)

const name = "fig8"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	// the polling goroutine never yields its P
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	s := defaults()
	err := s.read(args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = s.show(stdout)
	}
	if err == nil {
		return 0
	}
	for l := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "%s: %s\n", name, strings.TrimRight(l, "\n"))
	}
	return 1
}

func (s *settings) read(args []string, stdout io.Writer) error {
	f := s.flags()
	switch err := f.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "fig8 lets flows of several virtual priorities share a link in real "+
			"time, over DPDK ports: figure 8 of the\n"+
			"PrioPlus paper. One core polls all endpoints and the switch between them.\n\n%s",
			f.FlagUsagesWrapped(110))
		return err
	case err != nil:
		return err
	case f.NArg() > 0:
		return fmt.Errorf("%s: want flags alone; see --help", strings.Join(f.Args(), " "))
	}
	return s.validate()
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
