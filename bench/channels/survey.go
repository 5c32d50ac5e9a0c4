package channels

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/units"
)

// Survey is the result of a Gauge.
type Survey struct {
	Path                cc.Path // BaseRTT is the measured one
	Probe, Ping, Stream Noise   // of probes and full packets of the ping-pong, and of the stream
	// BeyondB counts the samples of the stream beyond B, and TwoInARow the pairs of successive
	// ones, which stop a flow. B does not cover them: no channel is wide enough for a host that
	// stalls.
	BeyondB, TwoInARow int
	A, B, Eps          units.Duration
	Channels           prioplus.Channels
	Width              units.Duration // of one channel
	Hosts              Hosts
}

// Wanted has the requirements for the table of channels.
type Wanted struct {
	Priorities int
	Flows      int     // concurrent flows of one priority, for A
	Inner      cc.Spec // algorithm of the flows
	Options    string  // further parameters of the table, such as room=on,patience=20
}

// channels returns the argument of prioplus.ParseChannels, with parameters appended to the number
// of priorities.
func (w Wanted) channels(parameters string) string {
	text := fmt.Sprintf("n=%d%s", w.Priorities, parameters)
	if w.Options != "" {
		text += "," + w.Options
	}
	return text
}

// Check validates the requirements as far as possible without a path.
func (w Wanted) Check() error {
	path := cc.Path{LineRate: units.Gbps, BaseRTT: units.Microsecond, Payload: 1000,
		Signals: cc.SignalDelay}
	if _, err := prioplus.Fluctuation(w.Flows, w.Inner, path); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "prioplus: "))
	}
	if _, err := prioplus.ParseChannels(w.channels("")); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "prioplus: "))
	}
	return nil
}

// filter is the number of successive samples that stop a flow, the default of prioplus.Channels.
const filter = 2

// widest is the largest B that prioplus.Channels accepts. A host that stalls for longer stops
// flows.
const widest = 10 * units.Millisecond

// errNoSamples is returned by Survey before samples of every kind were taken.
var errNoSamples = errors.New("channels: no samples of the path yet")

// Survey computes the table of channels from the measurement.
func (g *Gauge) Survey(w Wanted) (*Survey, error) {
	if len(g.stream) == 0 || len(g.probe) == 0 {
		return nil, errNoSamples
	}
	stream := g.stream.fabric()
	s := &Survey{Path: g.path, Probe: noiseOf(g.probe.fabric()), Ping: noiseOf(g.pings.fabric()),
		Stream: noiseOf(stream)}
	if s.Path.BaseRTT = g.BaseRTT; s.Path.BaseRTT == 0 {
		s.Path.BaseRTT = shown(g.base.Base())
	}
	var err error
	if s.A, err = prioplus.Fluctuation(w.Flows, w.Inner, s.Path); err != nil {
		return nil, err
	}
	s.A = round(s.A)
	s.B = round(min(max(s.Probe.P9985, s.Ping.P9985), widest))
	s.BeyondB = inARow(stream, s.Stream.Least, s.B, 1)
	s.TwoInARow = inARow(stream, s.Stream.Least, s.B, filter)
	s.Hosts = hostsOf(g.path.Signals&cc.SignalEndpoint != 0, g.probe, g.pings, g.stream)
	s.Eps = s.eps()
	if s.Channels, err = prioplus.ParseChannels(w.channels(fmt.Sprintf(",a=%v,b=%v,eps=%v", s.A,
		s.B, s.Eps))); err != nil {
		return nil, err
	}
	lowest, err := s.Channels.Of(0, s.Path)
	if err != nil {
		return nil, err
	}
	s.Width = lowest.Target - s.Path.BaseRTT
	s.Hosts.Wide = wider(s.Width, g.probe, g.pings, g.stream)
	return s, nil
}

// eps returns the tolerance above the base up to which queues count as empty: the 99th percentile
// of the noise, at least 1 µs as in PrioPlus's artifact, and at most half a channel.
func (s *Survey) eps() units.Duration {
	noise := min(s.B, max(s.Probe.P99, s.Ping.P99))
	return round(min(max(noise, units.Microsecond), (s.A+s.B)/2))
}

// round rounds a duration up to tenths of a microsecond, for flags.
func round(d units.Duration) units.Duration {
	const step = 100 * units.Nanosecond
	return max(step, (d+step-1)/step*step)
}

// Write prints the survey.
func (s *Survey) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "noise [us]\tsamples\tleast delay\tmean\tp50\tp99\tp99.85\tp99.9\tmax\t")
	for _, row := range s.rows() {
		n := row.Noise
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", row.name, n.Samples,
			n.Least.Microseconds(),
			n.Mean.Microseconds(), n.P50.Microseconds(), n.P99.Microseconds(),
			n.P9985.Microseconds(), n.P999.Microseconds(), n.Max.Microseconds())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nbase round trip of a full packet (%d bytes of payload): %v\n",
		int64(s.Path.Payload), shown(s.Path.BaseRTT))
	fmt.Fprintf(w, "a probe takes %v less; %d bytes on %d links of %v are %v\n",
		shown(s.Ping.Least-s.Probe.Least),
		int64(s.Path.Payload), s.Path.Hops+1, s.Path.LineRate,
		shown(s.Path.LineRate.Duration(s.Path.Payload)*units.Duration(s.Path.Hops+1)))
	fmt.Fprintf(w, "samples of the stream beyond B: %d of %d; two in a row, which stop a flow: "+
		"%s\n", s.BeyondB, s.Stream.Samples, s.misreactions())
	fmt.Fprintf(w, "A = %v, B = %v, A+B = %v\n", s.A, s.B, s.A+s.B)
	s.writeHosts(w)
	fmt.Fprintln(w)
	if err := s.Channels.Table(w, s.Path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n--channels %v --base-rtt %v --line-rate %v\n", s.Channels,
		round(s.Path.BaseRTT), s.Path.LineRate)
	return err
}

type row struct {
	name string
	Noise
}

func (s *Survey) rows() []row {
	return []row{{"probe", s.Probe}, {"data", s.Ping}, {"stream", s.Stream}}
}

// misreactions formats how often noise stops a flow, and how often it would if samples were
// independent (in the paper once in 400 MB).
func (s *Survey) misreactions() string {
	packet, samples := float64(s.Path.Payload)/1e6, float64(s.Stream.Samples) // MB
	text := fmt.Sprintf("%d times, once in %.4g MB", s.TwoInARow,
		packet*samples/float64(s.TwoInARow))
	if s.TwoInARow == 0 {
		text = fmt.Sprintf("never in %.4g MB", packet*samples)
	}
	if share := float64(s.BeyondB) / samples; share > 0 {
		text += fmt.Sprintf("; if noise were independent, once in %.4g MB", packet/(share*share))
	}
	return text
}

// shown rounds a duration for printing.
func shown(d units.Duration) units.Duration {
	const step = 10 * units.Nanosecond
	return (d + step/2) / step * step
}
