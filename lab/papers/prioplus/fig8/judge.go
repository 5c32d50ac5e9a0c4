package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/goroce/goroce/units"
)

// A takeover is the share dominant of all that arrives, in this many bins in a row.
const (
	dominant = 0.9
	lasting  = 3
)

// capacity returns the message bytes that the bottleneck carries in a bin: the payload of full
// packets.
func (s *settings) capacity(bin units.Duration) float64 {
	// Ethernet, IPv4, UDP, BTH, ICRC, check sequence, preamble and gap
	const around = 14 + 20 + 8 + 12 + 4 + 4 + 20
	return float64(s.Rate.Bytes(bin)) * float64(pathMTU) / float64(pathMTU+around)
}

// phase is the time between two steps.
type phase struct {
	From, To units.Duration
	Event    string
	Leader   int       // index of the highest active group
	Shares   []float64 // of the link, of each group in the second half
	Link     float64   // all of them
	// Takeover is how long the leader took until it had nine tenths of what arrived; negative: not
	// within the phase.
	Takeover units.Duration
}

// phases judges the phases of a scenario.
func (s *settings) phases(sc *scenario) (phases []phase) {
	n := len(sc.Groups)
	for k := range 2*n - 1 {
		a := phase{From: units.Duration(k) * sc.Step, To: units.Duration(k+1) * sc.Step,
			Leader: min(k, 2*n-2-k), Takeover: -1}
		a.Event = fmt.Sprintf("%d starts", sc.Groups[a.Leader].Priority)
		if k >= n {
			a.Event = fmt.Sprintf("%d ends", sc.Groups[2*n-1-k].Priority)
		}
		first, last := k*bins, (k+1)*bins
		for _, g := range sc.Groups {
			share := sum(g.Bytes[first+bins/2:last]) / (s.capacity(sc.Bin) * bins / 2)
			a.Shares = append(a.Shares, share)
			a.Link += share
		}
		row := 0
		for b := first; b < last && a.Takeover < 0; b++ {
			all := 0.0
			for _, g := range sc.Groups {
				all += g.Bytes[b]
			}
			if row++; all == 0 || sc.Groups[a.Leader].Bytes[b] < dominant*all {
				row = 0
			}
			if row == lasting {
				a.Takeover = units.Duration(b-lasting+1-first) * sc.Bin
			}
		}
		phases = append(phases, a)
	}
	return phases
}

func sum(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}

// write prints the results of a scenario.
func (s *settings) write(w io.Writer, sc *scenario) error {
	fmt.Fprintf(w, "\n%s: %d rounds in %.2f s, of which other programs had the core for %.1f %%\n",
		sc.Name, sc.Rounds, sc.Took.Seconds(),
		100*float64(sc.Absent)/float64(sc.Took))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "at\t\ttakes over within\t")
	for _, g := range sc.Groups {
		fmt.Fprintf(t, "share of %d\t", g.Priority)
	}
	fmt.Fprintln(t, "link used\t")
	for _, a := range s.phases(sc) {
		took := "-"
		if a.Takeover >= 0 {
			took = (a.Takeover + sc.Bin).String()
		}
		fmt.Fprintf(t, "%v\t%s\t%s\t", a.From, a.Event, took)
		for _, share := range a.Shares {
			fmt.Fprintf(t, "%.1f %%\t", 100*share)
		}
		fmt.Fprintf(t, "%.1f %%\t\n", 100*a.Link)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, g := range sc.Groups {
		fmt.Fprintf(w, "priority %d, target %v:", g.Priority,
			g.Target/(100*units.Nanosecond)*(100*units.Nanosecond))
		for i, p := range g.Flows {
			if i > 0 {
				fmt.Fprint(w, ";")
			}
			fmt.Fprintf(w, " %d messages, stopped %d times under higher ones, %.1f MB after them",
				p.seen, p.Stops, float64(p.Resumed)/1e6)
		}
		fmt.Fprintln(w)
	}
	return nil
}
