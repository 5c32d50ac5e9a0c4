package analysis

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/goroce/goroce/units"
)

// Column is a column of the table of queue pairs.
type Column struct {
	Name string
	Doc  string
	Text func(*Flow) string
}

func count(name, doc string, of func(*Flow) uint64) Column {
	return Column{name, doc, func(f *Flow) string {
		if n := of(f); n > 0 {
			return fmt.Sprint(n)
		}
		return "·"
	}}
}

func span(d units.Duration) string {
	if d <= 0 {
		return "·"
	}
	return round(d).String()
}

// round returns a duration with three or four digits.
func round(d units.Duration) units.Duration {
	for unit := units.Second; unit > units.Nanosecond; unit /= 10 {
		if d >= unit {
			return d / (unit / 1000) * (unit / 1000)
		}
	}
	return d
}

// Columns are the columns of the table.
var Columns = []Column{
	{"queue pair", "who recorded it, or addresses, and its number",
		func(f *Flow) string { return f.Name }},
	count("packets", "requests sent, retransmissions included", func(f *Flow) uint64 {
		return max(f.Packets, f.Responses)
	}),
	count("received", "packets accepted in order", func(f *Flow) uint64 { return f.Received }),
	{"delivered", "payload acknowledged or accepted", func(f *Flow) string {
		return fmt.Sprintf("%.1f MB", float64(f.Delivered)/1e6)
	}},
	{"goodput", "delivered, over the time from the first to the last event",
		func(f *Flow) string { return fmt.Sprintf("%.4g Gb/s", float64(f.Throughput())/1e9) }},
	{"RTT p50", "median round trip of a packet and its acknowledgement",
		func(f *Flow) string { return span(f.RTTAt(50)) }},
	{"p99", "its 99th percentile", func(f *Flow) string { return span(f.RTTAt(99)) }},
	count("lost", "packets that the sender counts as lost", func(f *Flow) uint64 { return f.Lost }),
	count("again", "packets sent again", func(f *Flow) uint64 { return f.Retransmitted }),
	count("gaps", "times that a PSN was skipped, or packets that arrived behind a gap",
		func(f *Flow) uint64 { return f.Gaps + f.OutOfOrder }),
	count("dup", "packets that had arrived before", func(f *Flow) uint64 { return f.Duplicates }),
	count("NAK", "sequence NAKs", func(f *Flow) uint64 { return f.NAKs }),
	count("RNR", "receiver not ready NAKs", func(f *Flow) uint64 { return f.RNRs }),
	count("fatal", "NAKs that end a connection", func(f *Flow) uint64 { return f.FatalNAKs }),
	count("RTO", "timeouts", func(f *Flow) uint64 { return f.Timeouts }),
	count("CNP", "congestion notification packets to the sender",
		func(f *Flow) uint64 { return f.CNPs }),
	count("CE", "packets with congestion experienced", func(f *Flow) uint64 { return f.Marks }),
	{"limited by", "what kept the sender from sending, in percent of the time", Limits},
}

// Limits returns the shares of what limited the flow as text.
func Limits(f *Flow) string {
	var parts []string
	for _, s := range f.Shares() {
		if s.Part >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %.0f%%", s.Reason, s.Part*100))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "·")
}

// maxRows bounds the rows of the text; the page has all.
const maxRows = 40

// WriteText writes the report as text.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s of %v, %d %s, %d queue pairs\n", r.Source, r.Kind, r.Length(),
		r.Items, map[bool]string{true: "events", false: "packets"}[r.Kind == EventLog],
		len(r.Flows))
	if r.Foreign > 0 {
		fmt.Fprintf(w, "%d packets are not RoCEv2\n", r.Foreign)
	}
	if r.Others > 0 {
		fmt.Fprintf(w, "%d items are of queue pairs beyond the first %d\n", r.Others, MaxFlows)
	}
	if r.Dropped+r.SwitchMarks+r.Pauses > 0 {
		fmt.Fprintf(w, "switches: %d frames dropped, %d marked, %d pauses\n", r.Dropped,
			r.SwitchMarks, r.Pauses)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, c := range Columns {
		fmt.Fprint(t, c.Name, map[bool]string{true: "\t", false: "\n"}[i+1 < len(Columns)])
	}
	for i, f := range r.Flows {
		if i == maxRows {
			break
		}
		for i, c := range Columns {
			fmt.Fprint(t, c.Text(f), map[bool]string{true: "\t", false: "\n"}[i+1 < len(Columns)])
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if len(r.Flows) > maxRows {
		fmt.Fprintf(w, "and %d more\n", len(r.Flows)-maxRows)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\nNote: %s\n", n)
	}
	return nil
}

// The kinds of sources.
const (
	EventLog = "event log"
	Capture  = "capture"
)
