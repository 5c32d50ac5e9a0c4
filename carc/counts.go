package carc

import "github.com/goroce/goroce/cc"

// AdmissionCounts implements cc.AdmissionCounter.
func (g *Gate) AdmissionCounts() cc.AdmissionCounts {
	s := &g.stats
	return cc.AdmissionCounts{Messages: s.Messages, Overdrawn: s.Overdrawn, Blocked: s.Blocked,
		Waited: s.Waited, Queries: s.Queries}
}

// AdmissionCounts implements cc.AdmissionCounter.
func (g *Granter) AdmissionCounts() cc.AdmissionCounts {
	s := &g.stats
	return cc.AdmissionCounts{Messages: s.Delivered, Consumed: s.Consumed, Queries: s.Queries}
}
