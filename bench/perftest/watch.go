package perftest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// watchEvery is the interval of --watch.
const watchEvery = time.Second

// watchMost limits the queue pairs in the table of --watch; the JSON lines have all.
const watchMost = 16

// Glance is the state of one queue pair for --watch, a line of --watch_json.
type Glance struct {
	Elapsed   float64 `json:"elapsed_s"` // since the start of the size's measurement
	MsgSize   int     `json:"MsgSize"`
	QPN       uint32  `json:"qpn"`
	Algorithm string  `json:"cc"`
	// sent since the last line, including retransmissions
	Goodput     float64           `json:"goodput_gbps"`
	Window      int64             `json:"window_bytes"`
	Rate        float64           `json:"rate_gbps"` // 0: not paced
	Delay       float64           `json:"delay_us"`
	Target      float64           `json:"target_us"`
	Marks       uint64            `json:"ce_marked"`
	CNPs        uint64            `json:"cnps"`
	Retransmits uint64            `json:"retransmits"`
	Cuts        map[string]uint64 `json:"cuts"` // by reason
	LastCut     string            `json:"last_cut,omitempty"`
	Channel     *ChannelGlance    `json:"channel,omitempty"` // with --prio
	PollGaps                      // of the endpoint since the last line
}

// ChannelGlance is the state of a virtual priority for --watch.
type ChannelGlance struct {
	Priority int     `json:"priority"`
	Limit    float64 `json:"limit_us"`
	State    string  `json:"state"`
	Flows    float64 `json:"flows"` // #flow, the flow's estimate
}

// watch prints the state of the queue pairs of a run periodically, until stop is called.
func (c *console) watch(x *session, r *sizeRun) (stop func()) {
	s := x.settings
	if c.err == nil || !s.Watch && s.WatchJSON == "" || !r.isActive() {
		return func() {}
	}
	w := watcher{session: x, size: r.size, begun: time.Now(), sent: map[uint32]uint64{},
		polled: slices.Clone(r.polled), gaps: make([]PollGaps, len(x.queueSets))}
	w.last = w.begun
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
			glances := w.look()
			if s.Watch {
				fmt.Fprint(c.err, table(glances), limits(w.gaps))
			}
			if s.WatchJSON != "" {
				if err := appendLines(s.WatchJSON, c.out, glances); err != nil {
					fmt.Fprintf(c.err, "--watch_json: %v\n", err)
					return
				}
			}
		}
	}()
	return func() { close(quit); <-ended }
}

type watcher struct {
	session     *session
	size        int
	begun, last time.Time
	sent        map[uint32]uint64
	polled      []polled   // by endpoint
	gaps        []PollGaps // since the previous reading
}

// look reads the state on the polling cores.
func (w *watcher) look() (glances []Glance) {
	now := time.Now()
	passed := now.Sub(w.last).Seconds()
	w.last = now
	for i, l := range w.session.queueSets {
		_ = l.do(func(ep *transport.Endpoint) error {
			seen := l.polled(ep)
			gaps := seen.since(w.polled[i])
			w.polled[i], w.gaps[i] = seen, gaps
			for i := range l.pairs {
				p := &l.pairs[i]
				stats := p.qp.Stats()
				snap := stats.Congestion
				g := Glance{
					Elapsed: now.Sub(w.begun).Seconds(), MsgSize: w.size, QPN: uint32(p.qp.Num),
					Algorithm: l.settings.controlOf(p.number).Name(),
					Goodput:   float64(stats.BytesSent-w.sent[uint32(p.qp.Num)]) * 8 / 1e9 / passed,
					Window:    int64(snap.Window), Rate: float64(snap.Rate) / float64(units.Gbps),
					Delay: snap.Delay.Microseconds(), Target: snap.Target.Microseconds(),
					Marks: stats.MarkedCE, CNPs: stats.CNPs, Retransmits: stats.Retransmitted,
					Cuts: map[string]uint64{}, PollGaps: gaps,
				}
				w.sent[uint32(p.qp.Num)] = stats.BytesSent
				for reason, n := range snap.Cuts {
					if n > 0 {
						g.Cuts[cc.Reason(reason).String()] = n
					}
				}
				if ch := snap.Channel; ch.Limit > 0 {
					g.Channel = &ChannelGlance{ch.Priority, ch.Limit.Microseconds(),
						ch.State.String(), ch.Flows}
				}
				if snap.Reason != cc.NoCut {
					g.LastCut = snap.Reason.String()
				}
				glances = append(glances, g)
			}
			return nil
		})
	}
	return glances
}

// table formats the readings.
func table(glances []Glance) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%9s %8s %-9s %9s %11s %9s %9s %9s %8s %6s %8s  %s\n",
		"elapsed", "QP", "cc", "Gb/s", "window", "rate", "delay", "target", "marks", "CNPs",
		"resent", "cuts")
	for i, g := range glances {
		if i == watchMost {
			fmt.Fprintf(&b, "%9s and %d more\n", "", len(glances)-i)
			break
		}
		rate := "-"
		if g.Rate > 0 {
			rate = fmt.Sprintf("%.3g", g.Rate)
		}
		var cuts []string
		if ch := g.Channel; ch != nil {
			cuts = append(cuts, fmt.Sprintf("%s, #flow %.3g", ch.State, ch.Flows))
		}
		for reason := range cc.Reasons {
			if name := cc.Reason(reason).String(); g.Cuts[name] > 0 {
				cuts = append(cuts, fmt.Sprintf("%s %d", name, g.Cuts[name]))
			}
		}
		fmt.Fprintf(&b, "%8.0fs %#8x %-9s %9.3f %11d %9s %7.1fus %7.1fus %8d %6d %8d  %s\n",
			g.Elapsed, g.QPN, g.Algorithm, g.Goodput, g.Window, rate, g.Delay, g.Target, g.Marks,
			g.CNPs, g.Retransmits, strings.Join(cuts, ", "))
	}
	return b.String()
}

// limits formats each endpoint's notable poll gaps.
func limits(gaps []PollGaps) string {
	var b strings.Builder
	for i, g := range gaps {
		text := g.String()
		if text == "" {
			continue
		}
		if len(gaps) > 1 {
			text = fmt.Sprintf("endpoint %d: %s", i, text)
		}
		fmt.Fprintf(&b, "%9s %s\n", "", text)
	}
	return b.String()
}

// appendLines appends one JSON line for each reading to a file, or to out for the name "-".
func appendLines(name string, out io.Writer, glances []Glance) error {
	if name != "-" {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	lines := json.NewEncoder(out)
	for _, g := range glances {
		if err := lines.Encode(g); err != nil {
			return err
		}
	}
	return nil
}
