package report

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Totals are what our end counts beside messages; the names are those of the JSON document of
// bench/perftest.
type Totals struct {
	Retransmits  uint64 `json:"retransmits"`
	Timeouts     uint64 `json:"timeouts"`
	RNRNaks      uint64 `json:"rnr_naks"`
	SequenceNaks uint64 `json:"sequence_naks"`
	CNPs         uint64 `json:"cnps"`
	MarkedCE     uint64 `json:"ce_marked"`
	Drops        uint64 `json:"drops"`
	Lost         uint64 `json:"lost"`
}

// Document reads the totals out of our JSON document.
func Document(document []byte) (t Totals, err error) {
	var d struct {
		Results []Totals `json:"results"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return t, fmt.Errorf("JSON document: %w", err)
	}
	for _, r := range d.Results {
		t.Retransmits += r.Retransmits
		t.Timeouts += r.Timeouts
		t.RNRNaks += r.RNRNaks
		t.SequenceNaks += r.SequenceNaks
		t.CNPs += r.CNPs
		t.MarkedCE += r.MarkedCE
		t.Drops += r.Drops
		t.Lost += r.Lost
	}
	return t, nil
}

func (t Totals) String() string {
	return counts([]count{{"retransmits", t.Retransmits}, {"timeouts", t.Timeouts},
		{"RNR NAKs", t.RNRNaks},
		{"sequence NAKs", t.SequenceNaks}, {"CNPs", t.CNPs}, {"CE marks", t.MarkedCE}, {"drops",
			t.Drops}, {"lost", t.Lost}})
}

type count struct {
	name string
	n    uint64
}

// counts shows those that are not zero.
func counts(all []count) string {
	var parts []string
	for _, c := range all {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", c.name, c.n))
		}
	}
	return strings.Join(parts, ", ")
}
