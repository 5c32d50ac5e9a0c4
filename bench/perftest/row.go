package perftest

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/goroce/goroce/transport"
)

// Row is the result of one message size in the JSON document. Capitalised names are perftest's, as
// are their units: BW_* in the printed unit, MsgRate in millions/s, times in microseconds.
type Row struct {
	MsgSize    int    `json:"MsgSize"`
	Iterations uint64 `json:"n_iterations"`
	*BandwidthRow
	*LatencyRow

	// Percentiles are of half the round-trip time in a latency test (READ and atomics: the whole),
	// and of the time from posting to completion in a bandwidth test.
	Percentiles Percentiles `json:"percentiles"`
	PerQP       []QPRow     `json:"per_qp"`
	Jain        float64     `json:"jain"`
	Lost        uint64      `json:"lost"` // messages sent and not received (UC and UD)
	// CutOff is the number of messages that were outstanding when the time was over. They are
	// neither in Iterations nor in Lost.
	CutOff uint64   `json:"cut_off"`
	Work   *WorkRow `json:"work,omitempty"`
	Totals
	PollGaps
	CPU CPU `json:"cpu"`
	GC  GC  `json:"gc"`

	latencies *latencies
	samples   []float64 // microseconds, for -U
}

// BandwidthRow has perftest's fields of a bandwidth test.
type BandwidthRow struct {
	Peak    float64 `json:"BW_peak"`
	Average float64 `json:"BW_average"`
	MsgRate float64 `json:"MsgRate"`
}

// LatencyRow has perftest's fields of a latency test.
type LatencyRow struct {
	Min     float64 `json:"t_min"`
	Max     float64 `json:"t_max"`
	Typical float64 `json:"t_typical"`
	Avg     float64 `json:"t_avg"`
	Stdev   float64 `json:"t_stdev"`
	P99     float64 `json:"percentile_99"`
	P999    float64 `json:"percentile_99.9"`
	TPS     float64 `json:"tps_average"`
}

// Percentiles are latencies in microseconds.
type Percentiles struct {
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99_9"`
	P9999 float64 `json:"p99_99"`
	Max   float64 `json:"max"`
}

// QPRow is the result of one queue pair.
type QPRow struct {
	QPN        uint32  `json:"qpn"`
	Iterations uint64  `json:"n_iterations"`
	Average    float64 `json:"BW_average"`
	MsgRate    float64 `json:"MsgRate"`
}

// Totals count errors and notifications of the transport, summed over both ends.
type Totals struct {
	Retransmits  uint64 `json:"retransmits"`
	Timeouts     uint64 `json:"timeouts"`
	RNRNaks      uint64 `json:"rnr_naks"`
	SequenceNaks uint64 `json:"sequence_naks"`
	CNPs         uint64 `json:"cnps"`
	MarkedCE     uint64 `json:"ce_marked"`
	Drops        uint64 `json:"drops"`
	Tokens       uint64 `json:"tokens,omitempty"` // TOKENs received

	Credits       uint64 `json:"credits,omitempty"`         // CREDITs sent as packets of their own
	CreditsOnAcks uint64 `json:"credits_on_acks,omitempty"` // CREDITs sent on ACKs
	// times that a sender waited for tokens or credits
	Blocked   uint64 `json:"blocked,omitempty"`
	BlockedNS uint64 `json:"blocked_ns,omitempty"` // total waiting time
}

func (t *Totals) add(o Totals) {
	t.Retransmits += o.Retransmits
	t.Timeouts += o.Timeouts
	t.RNRNaks += o.RNRNaks
	t.SequenceNaks += o.SequenceNaks
	t.CNPs += o.CNPs
	t.MarkedCE += o.MarkedCE
	t.Drops += o.Drops
	t.Tokens += o.Tokens
	t.Credits += o.Credits
	t.CreditsOnAcks += o.CreditsOnAcks
	t.Blocked += o.Blocked
	t.BlockedNS += o.BlockedNS
}

func (t Totals) String() string {
	text := fmt.Sprintf("retransmits %d, timeouts %d, RNR NAKs %d, sequence NAKs %d, CNPs %d, CE "+
		"marks %d, drops %d",
		t.Retransmits, t.Timeouts, t.RNRNaks, t.SequenceNaks, t.CNPs, t.MarkedCE, t.Drops)
	if t.Tokens > 0 {
		text += fmt.Sprintf(", TOKENs %d", t.Tokens)
	}
	if t.Credits+t.CreditsOnAcks > 0 {
		text += fmt.Sprintf(", CREDITs %d and %d on ACKs", t.Credits, t.CreditsOnAcks)
	}
	if t.Blocked > 0 {
		text += fmt.Sprintf(", blocked %d times for %.3f s", t.Blocked, float64(t.BlockedNS)/1e9)
	}
	return text
}

// totalsOf extracts the Totals from an endpoint's counters. Drops are all counters of that prefix
// except DropNotOurs: a port that shares a kernel's interface sees many frames for others.
func totalsOf(c transport.Stats) Totals {
	t := Totals{
		Retransmits: c.Retransmitted, Timeouts: c.Timeouts, RNRNaks: c.RNRNaks,
		SequenceNaks: c.SequenceNaks,
		CNPs:         c.CNPs, MarkedCE: c.MarkedCE, Tokens: c.TokensHeard,
		Credits: c.CreditsSent, CreditsOnAcks: c.CreditsOnAcks, Blocked: c.Blocked,
		BlockedNS: c.BlockedNS,
	}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; strings.HasPrefix(name, "Drop") &&
			name != "DropNotOurs" {
			t.Drops += v.Field(i).Uint()
		}
	}
	return t
}

// since returns the differences to an earlier reading.
func (t Totals) since(before Totals) Totals {
	return Totals{
		t.Retransmits - before.Retransmits, t.Timeouts - before.Timeouts,
		t.RNRNaks - before.RNRNaks,
		t.SequenceNaks - before.SequenceNaks, t.CNPs - before.CNPs, t.MarkedCE - before.MarkedCE,
		t.Drops - before.Drops,
		t.Tokens - before.Tokens, t.Credits - before.Credits,
		t.CreditsOnAcks - before.CreditsOnAcks, t.Blocked - before.Blocked,
		t.BlockedNS - before.BlockedNS,
	}
}

// unit returns the bandwidth of one message/s in the printed unit.
func (s *Settings) unit(size int) float64 {
	if s.Gbits {
		return float64(size) * 8 / 1e9
	}
	return float64(size) / (1 << 20)
}

// bandwidthRow returns the combined row of concurrent senders.
func (s *Settings) bandwidthRow(size int, queueSets []*queueSet, senders []*sender) *Row {
	r := &Row{MsgSize: size, BandwidthRow: &BandwidthRow{}, PerQP: make([]QPRow, s.QPs),
		latencies: newLatencies()}
	first := senders[0].meter
	from, to, peak := first.from, first.to, 0.0
	for i, m := range senders {
		if m.meter.from.Before(from) {
			from = m.meter.from
		}
		if m.meter.to.After(to) {
			to = m.meter.to
		}
		r.Iterations += m.meter.count()
		peak += m.meter.peak
		r.latencies.merge(m.latencies)
		for j := range m.streams {
			st, p := &m.streams[j], &queueSets[i].pairs[j]
			rate := m.rate(st)
			r.PerQP[p.number] = QPRow{uint32(p.qp.Num), st.last - st.base, rate * s.unit(size),
				rate / 1e6}
		}
	}
	whole := meter{from: from, to: to, last: r.Iterations}
	s.setRates(r, whole.rate(), peak)
	r.Percentiles, r.Jain = r.latencies.percentiles(), jain(r.PerQP)
	return r
}

// receivedRow fills in the rates of the receiving end.
func (s *Settings) receivedRow(r *Row, receivers []*receiver) {
	rate, peak := 0.0, 0.0
	r.Iterations = 0
	for _, m := range receivers {
		r.Iterations += m.count
		rate += m.meter.rate()
		peak += m.meter.peak
	}
	s.setRates(r, rate, peak)
}

func (s *Settings) setRates(r *Row, rate, peak float64) {
	r.MsgRate, r.Average, r.Peak = rate/1e6, rate*s.unit(r.MsgSize), max(peak,
		rate)*s.unit(r.MsgSize)
	if s.NoPeak {
		r.Peak = 0
	}
}

// latencyRow returns the row of a pingpong.
func (s *Settings) latencyRow(size int, l *queueSet, m *pingpong) *Row {
	h := m.latencies
	rate := m.meter.rate()
	r := &Row{MsgSize: size, Iterations: h.n, latencies: h, Percentiles: h.percentiles(), Jain: 1}
	r.LatencyRow = &LatencyRow{
		Min: h.min.Microseconds(), Max: h.max.Microseconds(), Typical: r.Percentiles.P50,
		Avg: h.mean / 1e3, Stdev: h.stdev(),
		P99: r.Percentiles.P99, P999: r.Percentiles.P999, TPS: rate,
	}
	r.PerQP = []QPRow{{uint32(l.pairs[0].qp.Num), h.n, rate * s.unit(size), rate / 1e6}}
	for _, d := range m.samples {
		r.samples = append(r.samples, d.Microseconds())
	}
	return r
}

// jain returns Jain's fairness index of the queue pairs' rates: 1 if all are equal, 1/n if one has
// everything.
func jain(qps []QPRow) float64 {
	sum, squares := 0.0, 0.0
	for _, q := range qps {
		sum += q.MsgRate
		squares += q.MsgRate * q.MsgRate
	}
	if squares == 0 {
		return 1
	}
	return math.Min(1, sum*sum/(float64(len(qps))*squares))
}
