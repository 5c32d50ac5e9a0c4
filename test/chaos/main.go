package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
)

const long = `chaos runs campaigns, each of which repeats an operation that must succeed every time.
It prints a line for each campaign, and exits with 0 if all pass.`

func main() {
	runRole()
	os.Exit(command(os.Args[1:]))
}

func command(args []string) int {
	s := runner{out: os.Stdout}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 0, "rounds of each campaign; 0: the campaign's default")
	flags.BoolVar(&s.full, "full", false,
		"as many rounds as a release requires; takes over half an hour")
	flags.DurationVar(&s.stallLimit, "patience", 5*time.Minute,
		"time without progress after which a campaign fails")
	list := flags.Bool("list", false, "list the campaigns")
	pattern := flags.String("run", "", "run only the campaigns whose names match this `regexp`")
	c := &cobra.Command{
		Use: "chaos [flags]", Short: "Repeat operations that must succeed every time",
		Long: long, Args: cli.NoArgs, Version: cli.Version(eal.Version()),
	}
	c.Flags().AddGoFlagSet(flags)
	c.RunE = func(c *cobra.Command, _ []string) error {
		selected, err := matching(*pattern)
		switch {
		case err != nil:
		case s.rounds < 0:
			err = fmt.Errorf("--rounds %d: want at least 1, or 0 for the default", s.rounds)
		case s.stallLimit <= 0:
			err = fmt.Errorf("--patience %v: want more than 0", s.stallLimit)
		}
		if err != nil {
			return cli.Usage(err)
		}
		return s.all(selected, *list)
	}
	return cli.Run(context.Background(), c, os.Stdout, os.Stderr, cli.SingleDash(c, args)...)
}

// all runs the campaigns, or lists them.
func (r *runner) all(selected []campaign, list bool) (err error) {
	for _, c := range selected {
		switch {
		case list:
			fmt.Fprintf(r.out, "%-16s %s; %d rounds, %d with --full\n", c.name, c.about, c.rounds,
				c.full)
		case !r.runCampaign(c):
			err = cli.ErrReported
		}
	}
	return err
}

// matching returns the campaigns whose names match a regexp. It is an error if there are none.
func matching(pattern string) ([]campaign, error) {
	names, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	var selected []campaign
	for _, c := range campaigns {
		if names.MatchString(c.name) {
			selected = append(selected, c)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("--run %s matches no campaign; --list prints the names", pattern)
	}
	return selected, nil
}
