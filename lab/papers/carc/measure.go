package carclab

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// className are the classes of loads, as records name them.
var className = []string{"", "long "}

// measure runs the model, first unmeasured, and then records for each class packets/s, the share of
// lines that missed, those of message buffers included, the share of packets that hostCC marked,
// how much its threads waited, and completion times.
func (m *model) measure(j *experiment.Job, warm, time units.Duration) error {
	if err := m.run(j.Context(), warm); err != nil {
		return err
	}
	m.reset()
	var states [4]int
	const look = 5 * us
	m.clock.Every(look, func(units.Time) bool { states[m.host.State()]++; return true })
	cut := 0.
	m.clock.Every(100*us, func(units.Time) bool {
		if m.credits != nil {
			cut += m.credits.Sensor().Cut() * (100 * us).Seconds() / time.Seconds()
		}
		return true
	})
	if err := m.run(j.Context(), time); err != nil {
		return err
	}
	total := 0
	for _, n := range states {
		total += n
	}
	for s, n := range states {
		j.Value(fmt.Sprintf("S%d", s+1), float64(n)/float64(total))
	}
	for i, c := range m.classes {
		name := className[i]
		j.Value(name+"rate", float64(c.packets)/time.Seconds())
		j.Value(name+"miss", float64(c.missed+c.untouched)/float64(max(1, c.lines+c.touched)))
		j.Value(name+"marked", float64(c.marked)/float64(max(1, c.packets)))
		j.Value(name+"idle", max(0, 1-c.busy.Seconds()/time.Seconds()/float64(c.threads)))
		j.Value(name+"fct", c.fct...)
	}
	j.Value("most", float64(m.most))
	j.Value("cut", cut)
	return nil
}

// statesTable is the part of the time in each state, by cell.
func statesTable(r *experiment.Results) *figure.Table {
	t := &figure.Table{Name: "states",
		Title: "Part of the time in each state, and the largest unconsumed", Header: []string{"run",
			"S1", "S2", "S3", "S4", "unconsumed (MB)", "of credits taken back"}}
	for _, c := range r.Cells() {
		row := []any{c.Name}
		for _, s := range []string{"S1", "S2", "S3", "S4"} {
			row = append(row, fmt.Sprintf("%.2f", c.Values(s).Mean()))
		}
		t.Row(append(row, fmt.Sprintf("%.2f", c.Values("most").Max()/1e6),
			fmt.Sprintf("%.2f", c.Values("cut").Mean()))...)
	}
	return t
}
