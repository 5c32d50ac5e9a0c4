package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
)

func (l *lab) listCommand() *cobra.Command {
	scale := experiment.Small
	c := &cobra.Command{
		Use:   "list [PATTERN...]",
		Short: "Show the experiments of the catalogue",
		Long: `list shows the experiments of the catalogue whose ids match a pattern, or all of
them: id, kind, claims, jobs at the scale (cells × seeds; – if this program has no code for it
yet) and title.

A pattern is an id with * and ? (tocc/fig2*); a pattern without a slash is a paper (tocc).`,
		RunE: func(_ *cobra.Command, patterns []string) error { return l.list(patterns, scale) },
	}
	c.Flags().Var((*scaleFlag)(&scale), "scale", "scale at which jobs are counted: full or small")
	return c
}

func (l *lab) list(patterns []string, scale experiment.Scale) error {
	matched, err := l.Catalogue.Match(patterns...)
	if err != nil {
		return cli.Usage(err)
	}
	w := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKIND\tCLAIMS\tJOBS\tTITLE")
	for _, e := range matched {
		jobs := "–"
		if x := l.code(e); x != nil {
			cells, err := x.CellsAt(scale)
			if err != nil {
				return err
			}
			jobs = fmt.Sprintf("%d×%d", len(cells), x.SeedsAt(scale))
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", e.ID, e.Kind, len(e.Claims), jobs, e.Title)
	}
	return w.Flush()
}

// code returns the code of an experiment, nil if there is none yet.
func (l *lab) code(e *claims.Experiment) *experiment.Experiment {
	i := slices.IndexFunc(l.Experiments, func(x *experiment.Experiment) bool {
		return x.ID == e.ID
	})
	if i < 0 {
		return nil
	}
	return l.Experiments[i]
}

// scaleFlag is the value of a --scale flag.
type scaleFlag experiment.Scale

func (s *scaleFlag) String() string { return string(*s) }
func (s *scaleFlag) Type() string   { return "full|small" }
func (s *scaleFlag) Set(text string) error {
	if text != string(experiment.Full) && text != string(experiment.Small) {
		return fmt.Errorf("want %s or %s", experiment.Full, experiment.Small)
	}
	*s = scaleFlag(text)
	return nil
}
