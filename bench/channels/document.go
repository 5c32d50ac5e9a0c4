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
	Hosts     HostsDocument            `json:"hosts"`
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

// HostsDocument is what the two hosts do to the samples.
type HostsDocument struct {
	Here      NoiseDocument  `json:"gap"`                // poll gaps of this host
	There     *NoiseDocument `json:"peer_gap,omitempty"` // and of the peer, if it reports them
	Uncertain NoiseDocument  `json:"uncertainty"`        // of each sample
	// of the noise that may be the hosts', 0 to 1
	Share float64 `json:"share"`
	Width float64 `json:"width_us"` // of a channel
	// share of samples that are uncertain by more, 0 to 1
	Wide     float64 `json:"wider_than_channel"`
	TooNoisy bool    `json:"too_noisy"` // for these channels
	Advice   string  `json:"advice,omitempty"`
}

// ChannelDocument is one channel.
type ChannelDocument struct {
	Priority int     `json:"priority"`
	Class    string  `json:"class"`
	Target   float64 `json:"d_target_us"`
	Limit    float64 `json:"d_limit_us"`
}

// Document returns the results of a survey in the form in which they are stored.
func (s *Survey) Document() (Document, error) {
	d := Document{
		LineRate: float64(s.Path.LineRate) / float64(units.Gbps),
		BaseRTT:  s.Path.BaseRTT.Microseconds(), Payload: int64(s.Path.Payload),
		A: s.A.Microseconds(), B: s.B.Microseconds(), Eps: s.Eps.Microseconds(), BeyondB: s.BeyondB,
		TwoInARow: s.TwoInARow,
		Channels:  s.Channels.String(), Noise: map[string]NoiseDocument{},
	}
	for _, r := range s.rows() {
		d.Noise[r.name] = r.Noise.document()
	}
	h := &s.Hosts
	d.Hosts = HostsDocument{Here: h.Here.document(), Uncertain: h.Uncertain.document(),
		Share: h.Share, Width: s.Width.Microseconds(),
		Wide: s.Wide(), TooNoisy: s.TooNoisy(), Advice: s.Advice()}
	if h.Told {
		there := h.There.document()
		d.Hosts.There = &there
	}
	for i := range s.Channels.N() {
		ch, err := s.Channels.Of(i, s.Path)
		if err != nil {
			return Document{}, err
		}
		d.Table = append(d.Table, ChannelDocument{i, ch.Class.String(), ch.Target.Microseconds(),
			ch.Limit.Microseconds()})
	}
	return d, nil
}

func (n Noise) document() NoiseDocument {
	return NoiseDocument{n.Samples, n.Least.Microseconds(), n.Mean.Microseconds(),
		n.P50.Microseconds(), n.P99.Microseconds(),
		n.P9985.Microseconds(), n.P999.Microseconds(), n.Max.Microseconds()}
}
