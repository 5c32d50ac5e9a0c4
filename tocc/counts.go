package tocc

import "github.com/goroce/goroce/cc"

func (s *Stats) counts() cc.AdmissionCounts {
	return cc.AdmissionCounts{Granted: s.Granted, Discarded: s.Discarded, Unneeded: s.Unneeded,
		Unscheduled: s.Unscheduled, Repeats: s.Repeats, Marked: s.Marked, Lost: s.Lost}
}

// AdmissionCounts implements cc.AdmissionCounter.
func (s *sender) AdmissionCounts() cc.AdmissionCounts { return s.stats.counts() }

// AdmissionCounts implements cc.AdmissionCounter.
func (r *Receiver) AdmissionCounts() cc.AdmissionCounts { return r.stats.counts() }

// AdmissionCounts implements cc.AdmissionCounter.
func (r *CreditReceiver) AdmissionCounts() cc.AdmissionCounts { return r.stats.counts() }
