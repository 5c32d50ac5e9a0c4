package prioplus

import (
	"math"

	"github.com/goroce/goroce/cc"
)

// The rules of the paper's published simulator (PrioPlus artifact) where they differ from the
// paper's. Option artifact chooses them, to compare curves with that simulator's.

// artifactShare is the number of flows that share the W_AI of one.
const artifactShare = 5

// followArtifact changes what does not depend on the flow's state: #flow is halved two round trips
// later, and the original CC gets one-way delays.
func (c *constants) followArtifact() {
	c.rtts += 2
	// A reply takes as long as a packet on links, but has no payload.
	c.back = max(0, (c.path.BaseRTT-c.probeSaving)/2)
}

// artifactFlows returns #flow where the paper's estimate is flows: the window's share of the bytes
// in flight at D_target, in whole flows.
func (p *PrioPlus) artifactFlows(flows float64) float64 {
	return math.Trunc(flows * float64(p.path.BaseRTT) / float64(p.Target))
}

// forInner returns an event for the original CC: with the artifact's rules, without the time of the
// reply.
func (p *PrioPlus) forInner(ev *cc.Event) *cc.Event {
	if p.back == 0 || ev.Kind != cc.RTT {
		return ev
	}
	oneWay := *ev
	oneWay.Delay = max(1, ev.Delay-p.back)
	return &oneWay
}
