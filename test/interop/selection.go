package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/goroce/goroce/test/interop/matrix"
)

// selected is what of all there is is to be run.
type selected struct {
	cells    []matrix.Cell
	hostiles []hostile
	probeds  []probed
	all      bool
}

// selection is what a command line asks for.
func selection(o options) (s selected) {
	cells := matrix.Quick()
	if o.full {
		cells = matrix.Full()
	}
	every := slices.Concat(cells, matrix.CM(), matrix.Impaired(), matrix.Controlled())
	for _, c := range every {
		if o.run.MatchString(c.String()) {
			s.cells = append(s.cells, c)
		}
	}
	// A name that is given in full is run, whether or not it stands for others.
	if len(s.cells) == 0 {
		for _, c := range matrix.Full() {
			if o.run.MatchString(c.String()) {
				s.cells = append(s.cells, c)
			}
		}
	}
	for _, h := range hostiles {
		if o.run.MatchString(h.name) {
			s.hostiles = append(s.hostiles, h)
		}
	}
	for _, p := range probeds {
		if o.run.MatchString(p.name) {
			s.probeds = append(s.probeds, p)
		}
	}
	s.all = len(s.cells) == len(every) && len(s.hostiles) == len(hostiles) &&
		len(s.probeds) == len(probeds)
	return s
}

func (s selected) empty() bool { return len(s.cells)+len(s.hostiles)+len(s.probeds) == 0 }

func (s selected) impaired() bool {
	return slices.ContainsFunc(s.cells, func(c matrix.Cell) bool {
		return c.Impair != matrix.Clean
	})
}

func (s selected) list(w io.Writer) {
	seconds := 0.0
	for _, c := range s.cells {
		fmt.Fprintln(w, c)
		seconds += c.Seconds()
	}
	for _, h := range s.hostiles {
		fmt.Fprintln(w, h.name)
	}
	for _, p := range s.probeds {
		fmt.Fprintln(w, p.name)
	}
	fmt.Fprintf(w, "%d cells, about %.0f minutes with an emulated guest; %d peers that "+
		"misbehave; %d that are probed\n",
		len(s.cells), 1+seconds/60, len(s.hostiles), len(s.probeds))
}
