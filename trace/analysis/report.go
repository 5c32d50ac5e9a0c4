package analysis

import (
	"cmp"
	"slices"

	"github.com/goroce/goroce/units"
)

// MaxFlows is the largest number of queue pairs with details.
const MaxFlows = 256

// Report is the result.
type Report struct {
	Source string // name of the file
	Kind   string // EventLog or Capture
	Flows  []*Flow
	// Others counts the events or packets of queue pairs beyond MaxFlows.
	Others uint64
	// Items counts all events or packets, Foreign those that are not RoCEv2 or of no queue pair.
	Items, Foreign uint64
	Notes          []string // what the source cannot tell, and what is unusual

	Dropped, SwitchMarks, Pauses uint64         // of a network's switches
	Away                         units.Duration // for which cores did not poll

	zero   units.Time // of the first item
	last   units.Time
	byName map[string]*Flow
}

// New returns an empty report.
func New(source, kind string) *Report {
	return &Report{Source: source, Kind: kind, byName: map[string]*Flow{}}
}

// Zero returns the time of the first item, from which times in charts count.
func (r *Report) Zero() units.Time { return r.zero }

// Span returns the time from the first to the last item.
func (r *Report) Span() units.Duration { return r.last.Sub(r.zero) }

// Length returns Span with three or four digits.
func (r *Report) Length() units.Duration { return round(r.Span()) }

// Item counts an event or packet.
func (r *Report) Item(at units.Time) {
	if r.Items++; r.Items == 1 {
		r.zero, r.last = at, at
	}
	r.zero, r.last = min(r.zero, at), max(r.last, at)
}

// Flow returns the flow of a name, or nil if there are too many.
func (r *Report) Flow(name, from, to string, at units.Time) *Flow {
	f := r.byName[name]
	if f == nil {
		if len(r.Flows) >= MaxFlows {
			r.Others++
			return nil
		}
		f = newFlow(name, from, to)
		r.byName[name], r.Flows = f, append(r.Flows, f)
	}
	f.touch(at)
	return f
}

// Note adds a note, once.
func (r *Report) Note(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// Sort orders the flows by what they delivered.
func (r *Report) Sort() {
	slices.SortStableFunc(r.Flows, func(a, b *Flow) int {
		return cmp.Or(cmp.Compare(b.Delivered, a.Delivered), cmp.Compare(b.Packets, a.Packets))
	})
}

func sortShares(s []Share) {
	slices.SortFunc(s, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Part, a.Part), cmp.Compare(a.Reason, b.Reason))
	})
}
