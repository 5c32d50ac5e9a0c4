package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
)

// group is what the sum has a line for.
type group struct {
	test    matrix.Test
	service matrix.Service
	impair  matrix.Impairment
	cm      bool
	both    bool
	control matrix.Control
}

func groupOf(c matrix.Cell) group {
	return group{c.Test, c.Service, c.Impair, c.CM, c.Both, c.Control}
}

// name is the test's, with the options that make a group of it.
func (g group) name() string {
	name := string(g.test)
	if g.cm {
		name += " -R"
	}
	if g.both {
		name += " -b"
	}
	if g.control != matrix.Unconcerned {
		name += " --cc " + string(g.control)
	}
	return name
}

// score is how many cells of a group went well, by our role.
type score struct {
	passed, failed map[matrix.Role]int
}

func (s score) of(r matrix.Role) string {
	text := fmt.Sprint(s.passed[r])
	if n := s.failed[r]; n > 0 {
		text += fmt.Sprintf(" (%d failed)", n)
	}
	return text
}

// scores are in the order in which the groups were tried.
func (r *run) scores() (order []group, by map[group]score) {
	by = map[group]score{}
	for _, t := range r.trials {
		g := groupOf(t.cell)
		if _, ok := by[g]; !ok {
			order = append(order, g)
			by[g] = score{map[matrix.Role]int{}, map[matrix.Role]int{}}
		}
		if t.err == nil {
			by[g].passed[t.cell.Role]++
		} else {
			by[g].failed[t.cell.Role]++
		}
	}
	return order, by
}

// sum prints the groups.
func (r *run) sum() {
	order, by := r.scores()
	w := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "test\tservice\twire\twe are client\twe are server")
	for _, g := range order {
		impair := string(g.impair)
		if g.impair == matrix.Clean {
			impair = "clean"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", g.name(), g.service, impair, by[g].of(matrix.Client),
			by[g].of(matrix.Server))
	}
	_ = w.Flush()
	fmt.Fprintf(r.out, "%d cells in %v\n", len(r.trials)+len(r.hostiles)+len(r.probings),
		time.Since(r.begun).Round(time.Second))
	if len(r.failed) > 0 {
		fmt.Fprintf(r.out, "failed:\n  %s\n", strings.Join(r.failed, "\n  "))
	}
}
