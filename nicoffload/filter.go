package nicoffload

import (
	"github.com/goroce/goroce/cc"
)

// filterDecision passes a flow's newest decision through the filters of TAURUS section 3.5 and on
// to the NIC. The boundary filter comes first, so that two decisions clamped to the same value
// count as duplicates.
func (a *Agent) filterDecision(f *agentFlow) {
	d, changed := a.inline.Decision(f.name)
	if !changed && !a.config.Unfiltered {
		a.counters.Duplicates++
		return
	}
	d.WakeAt = 0 // handled by the agent
	if !a.config.Unfiltered {
		a.clamp(&d)
		if f.known && d == f.written {
			a.counters.Duplicates++
			return
		}
	}
	f.written, f.known = d, true
	if len(a.out) == cap(a.out) {
		a.write()
	}
	if len(a.out) == cap(a.out) { // the device accepts none: only the newest decision is kept
		a.retryLater(f)
		return
	}
	a.out = append(a.out, Result{f.handle, d})
}

// clamp clamps a decision to the range that a NIC accepts. A rate of 0 means no pacing, and is
// kept.
func (a *Agent) clamp(d *cc.Decision) {
	was := *d
	d.Window = max(d.Window, 0)
	if d.Rate != 0 {
		d.Rate = max(min(d.Rate, a.config.MaxRate), a.config.MinRate)
	}
	if *d != was {
		a.counters.Clamped++
	}
}

// write passes decisions to the NIC.
func (a *Agent) write() {
	for len(a.unwritten) > 0 && len(a.out) < cap(a.out) {
		last := len(a.unwritten) - 1
		f := &a.flows[a.unwritten[last]]
		a.unwritten = a.unwritten[:last]
		if f.waiting = false; f.live {
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

// retryLater schedules a flow's newest decision to be written when there is room.
func (a *Agent) retryLater(f *agentFlow) {
	if !f.waiting {
		f.waiting = true
		a.unwritten = append(a.unwritten, f.handle.Index())
	}
}
