package channels

import "github.com/goroce/goroce/units"

// Document is a Survey as JSON: times in microseconds, rates in Gb/s.
type Document struct {
	LineRate  float64                  `json:"line_rate_gbps"`
	BaseRTT   float64                  `json:"base_rtt_us"`
	Payload   int64                    `json:"payload_bytes"`
	Noise     map[string]NoiseDocument `json:"noise"`
	A         float64                  `json:"a_us"`
	B         float64                  `json:"b_us"`
	Eps       float64                  `json:"eps_us"`
	BeyondB   int                      `json:"stream_beyond_b"`
	TwoInARow int                      `json:"stream_two_in_a_row"`
	Channels  string                   `json:"channels"`
	Table     []ChannelDocument        `json:"table"`
}

// NoiseDocument is one distribution.
type NoiseDocument struct {
	Samples int     `json:"samples"`
	Least   float64 `json:"least_delay_us"`
	Mean    float64 `json:"mean_us"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	P9985   float64 `json:"p9985_us"`
	P999    float64 `json:"p999_us"`
	Max     float64 `json:"max_us"`
}

// ChannelDocument is one channel.
type ChannelDocument struct {
	Priority int     `json:"priority"`
	Class    string  `json:"class"`
	Target   float64 `json:"d_target_us"`
	Limit    float64 `json:"d_limit_us"`
}

// Document answers it.
func (s *Survey) Document() (Document, error) {
	d := Document{
		LineRate: float64(s.Path.LineRate) / float64(units.Gbps), BaseRTT: s.Path.BaseRTT.Microseconds(), Payload: int64(s.Path.Payload),
		A: s.A.Microseconds(), B: s.B.Microseconds(), Eps: s.Eps.Microseconds(), BeyondB: s.BeyondB, TwoInARow: s.TwoInARow,
		Channels: s.Channels.String(), Noise: map[string]NoiseDocument{},
	}
	for _, r := range s.rows() {
		d.Noise[r.name] = NoiseDocument{r.Samples, r.Least.Microseconds(), r.Mean.Microseconds(), r.P50.Microseconds(), r.P99.Microseconds(),
			r.P9985.Microseconds(), r.P999.Microseconds(), r.Max.Microseconds()}
	}
	for i := range s.Channels.N() {
		ch, err := s.Channels.Of(i, s.Path)
		if err != nil {
			return Document{}, err
		}
		d.Table = append(d.Table, ChannelDocument{i, ch.Class.String(), ch.Target.Microseconds(), ch.Limit.Microseconds()})
	}
	return d, nil
}
