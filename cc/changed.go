package cc

// ChangedFlows is the set of flows whose Decision a Controller's Poll has changed and not yet
// reported by Changed. Controllers embed it to implement Changed.
type ChangedFlows struct{ flows []Flow }

// NoteChanged adds a flow.
func (c *ChangedFlows) NoteChanged(f Flow) { c.flows = append(c.flows, f) }

// Changed implements Controller.
func (c *ChangedFlows) Changed() (Flow, bool) {
	last := len(c.flows) - 1
	if last < 0 {
		return 0, false
	}
	f := c.flows[last]
	c.flows = c.flows[:last]
	return f, true
}
