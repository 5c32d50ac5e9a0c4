package nicoffload

import (
	"github.com/goroce/goroce/cc"
)

// decided takes a flow's newest decision through the filters of TAURUS section 3.5, the boundary
// first, so that two that are out of bounds are one, and on its way to the NIC.
func (a *Agent) decided(f *agentFlow) {
	d, changed := a.inline.Decision(f.name)
	if !changed && !a.config.Unfiltered {
		a.counters.Duplicates++
		return
	}
	d.WakeAt = 0 // the agent's own
	if !a.config.Unfiltered {
		a.bound(&d)
		if f.known && d == f.written {
			a.counters.Duplicates++
			return
		}
	}
	f.written, f.known = d, true
	if len(a.out) == cap(a.out) {
		a.write()
	}
	if len(a.out) == cap(a.out) { // the device takes none: only the newest decision waits
		a.owe(f)
		return
	}
	a.out = append(a.out, Result{f.handle, d})
}

// bound clamps a decision to what a NIC can do. A rate of 0 is none, and stays so.
func (a *Agent) bound(d *cc.Decision) {
	was := *d
	d.Window = max(d.Window, 0)
	if d.Rate != 0 {
		d.Rate = max(min(d.Rate, a.config.MaxRate), a.config.MinRate)
	}
	if *d != was {
		a.counters.Clamped++
	}
}

// write gives the NIC what was decided.
func (a *Agent) write() {
	for len(a.owed) > 0 && len(a.out) < cap(a.out) {
		last := len(a.owed) - 1
		f := &a.flows[a.owed[last]]
		a.owed = a.owed[:last]
		if f.owes = false; f.live {
			a.out = append(a.out, Result{f.handle, f.written})
		}
	}
	if len(a.out) == 0 {
		return
	}
	n := max(0, min(a.device.Write(a.out), len(a.out)))
	a.counters.Results += uint64(n)
	if n < len(a.out) {
		a.counters.Busy++
	}
	a.out = a.out[:copy(a.out, a.out[n:])]
}

// owe notes that the newest decision of a flow is to be written as soon as there is room.
func (a *Agent) owe(f *agentFlow) {
	if !f.owes {
		f.owes = true
		a.owed = append(a.owed, f.handle.Index())
	}
}
