package taurus

import (
	"fmt"
	"math"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

const onTwoCores = "on two cores"

// fig8b: how many messages cross the boundary, with aggregation and without, and whether they carry
// everything.
var fig8b = &experiment.Experiment{
	ID:    "taurus/fig8b",
	Seeds: oneSeed,
	Cells: func(s experiment.Scale) []experiment.Cell {
		cells := []experiment.Cell{{Name: "in virtual time"}}
		if s == experiment.Full {
			cells = append(cells, experiment.Cell{Name: onTwoCores})
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		if j.Name == onTwoCores {
			return measureReports(j)
		}
		return eachAggregation(func(name string, flows int, a nicoffload.Aggregation) error {
			return countReports(j, name, flows, a)
		})
	},
	Judge: func(r *experiment.Results) {
		cells := r.Cells()
		judged := cells[len(cells)-1]
		var savings experiment.Keyed
		var series []float64
		for _, flows := range aggregatedFlows {
			s := saving(judged, flows)
			savings = savings.With(fmt.Sprint(flows), s)
			series = append(series, s)
		}
		r.Claim("rate-down", savings)
		r.Claim("fewer-with-flows", series)
		if len(cells) > 1 {
			exact := ""
			for _, flows := range aggregatedFlows {
				exact += fmt.Sprintf(" %.4f", saving(cells[0], flows))
			}
			r.Note("rate-down", "in virtual time, exactly:%s; on this machine load %.1f, both "+
				"cores undisturbed in %.0f of %.0f slices", exact,
				judged.Values("load")[0], judged.Values("slices").Sum(),
				judged.Values("all slices").Sum())
		} else {
			r.Note("rate-down", "in virtual time")
		}
		worst := 1.0
		for _, d := range r.Values("delivered") {
			if math.Abs(d-1) > math.Abs(worst-1) {
				worst = d
			}
		}
		r.Claim("nothing-lost", worst)
		r.Note("nothing-lost", "%d runs; the worst of packets, marks and bytes",
			len(r.Values("delivered")))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var all []figure.Figure
		for _, c := range r.Cells() {
			p := figure.Bars("reports-"+strings.ReplaceAll(c.Name, " ", "-"),
				"Messages across the boundary "+c.Name, "M/s", texts(aggregatedFlows,
					"%d flows")...)
			for _, a := range aggregations {
				var heights []float64
				for _, flows := range aggregatedFlows {
					heights = append(heights,
						perSecond(c, fmt.Sprintf("%d %s messages", flows, a.name))/1e6)
				}
				p.Heights("aggregation "+a.name, heights...)
			}
			all = append(all, p)
		}
		return all
	},
}

// saving returns the share of messages that aggregation saves.
func saving(c experiment.Pool, flows int) float64 {
	on, off := fmt.Sprintf("%d on messages", flows), fmt.Sprintf("%d off messages", flows)
	return 1 - perSecond(c, on)/perSecond(c, off)
}

// counted makes algorithms whose events are summed here.
func (s *sums) counted(name string) func() (cc.Algorithm, error) {
	make := benched(name)
	return func() (cc.Algorithm, error) {
		a, err := make()
		if err != nil {
			return nil, err
		}
		return &listener{events: a.Events(), first: a.(cc.Starter).Start(0),
			on: func(ev *cc.Event, now units.Time) cc.Decision {
				s.packets += uint64(ev.Packets)
				s.marked += uint64(ev.Marked)
				s.bytes += uint64(ev.Bytes)
				return a.On(ev, now)
			}}, nil
	}
}

// over returns s relative to the actual sums: the one of packets, marks and bytes that is furthest
// off.
func (s *sums) over(all sums) float64 {
	worst := 1.0
	for _, r := range []float64{float64(s.packets) / float64(all.packets),
		float64(s.marked) / float64(all.marked), float64(s.bytes) / float64(all.bytes)} {
		if math.Abs(r-1) > math.Abs(worst-1) {
			worst = r
		}
	}
	return worst
}

// measureReports counts messages of contenders, and sums what they carried.
func measureReports(j *experiment.Job) error {
	var all []*contender
	var received []*sums
	if err := eachAggregation(func(name string, flows int, a nicoffload.Aggregation) error {
		total := &sums{}
		c, err := newTaurus(name, flows, feedbackRate, a, total.counted("idctcp"))
		all, received = append(all, c), append(received, total)
		return err
	}); err != nil {
		return err
	}
	if err := measure(j, enoughAt(j.Scale), all...); err != nil {
		return err
	}
	for i, c := range all {
		// its messages are raw, and are dropped when there is no room
		if !strings.HasSuffix(c.name, "on") {
			continue
		}
		f := c.datapath.(*feedback)
		for end := wall().Add(ms); wall().Before(end); { // messages in flight
			f.acknowledge(0, wall())
			c.agent.Poll(wall())
		}
		j.Value("delivered", received[i].over(f.sent))
	}
	return nil
}

// countReports counts the messages of a millisecond of virtual time.
func countReports(j *experiment.Job, name string, flows int, a nicoffload.Aggregation) error {
	c, err := nicoffload.NewShared(nicoffload.Config{Flows: flows, Aggregation: a},
		nicoffload.AgentConfig{}, nil, 0)
	if err != nil {
		return err
	}
	received := &sums{}
	f, err := newFeedback(c, flows, received.counted("idctcp"), 0)
	if err != nil {
		return err
	}
	now := units.Time(0)
	c.Poll(now)
	before := c.Agent().Counters().Messages
	for end := now.Add(ms); now.Before(end); now = now.Add(units.Second / feedbackRate) {
		c.Poll(now)
		f.signal(now)
	}
	for end := now.Add(ms); now.Before(end); now = now.Add(us) {
		c.Poll(now)
	}
	j.Value(name+" messages", float64(c.Agent().Counters().Messages-before)/ms.Seconds())
	j.Value("delivered", received.over(f.sent))
	return nil
}
