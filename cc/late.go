package cc

// Late is the flows whose Decision a Controller's Poll has changed, and of which nobody was told
// yet: what a Controller embeds to have Changed.
type Late struct{ flows []Flow }

// Tell adds a flow.
func (l *Late) Tell(f Flow) { l.flows = append(l.flows, f) }

// Changed implements Controller.
func (l *Late) Changed() (Flow, bool) {
	last := len(l.flows) - 1
	if last < 0 {
		return 0, false
	}
	f := l.flows[last]
	l.flows = l.flows[:last]
	return f, true
}
