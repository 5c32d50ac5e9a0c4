package carclab

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
)

var (
	toccAlone  = gates{Tokens: "tocc"}
	threeGates = gates{CC: "swift", Credits: true, Tokens: "tocc"}
	twoGates   = gates{Credits: true, Tokens: "tocc"}
	jointGate  = gates{CC: "swift", Tokens: "joint"}
)

// carcToCC: credits beside tokens, or tokens that are granted only while there is room in the
// cache.
var carcToCC = &experiment.Experiment{
	ID:    "beyond/carc-tocc",
	Cells: gateCells(toccAlone, twoGates, threeGates, jointGate),
	Run: func(j *experiment.Job) error {
		c, err := newCourse(j, j.Params.(gates), experiment.At(j.Scale, 20*ms, 10*ms))
		if err != nil {
			return err
		}
		if err := c.run(j); err != nil {
			return err
		}
		c.record(j)
		limiter, err := c.limiter()
		j.Value("limiter", limiter)
		return err
	},
	Judge: func(r *experiment.Results) {
		three, one := r.Cell(threeGates.String()), r.Cell(jointGate.String())
		v := experiment.Keyed{}
		unfinished := 0.
		for _, c := range []experiment.Pool{three, one} {
			for i := range phases {
				v = v.With(fmt.Sprintf("%s, phase %d", c.Name, i+1), underLimiter(c, i))
			}
		}
		for _, c := range r.Cells() {
			unfinished += c.Values("unfinished").Sum()
		}
		r.Claim("min-of-two", v)
		if r.Scale == experiment.Small {
			r.Note("min-of-two", "of what is delivered; in phase 2 the program consumes %.2f of "+
				"the limit, and the rest fills the cache, of which δ had taken a part when it "+
				"was first full: 256 KB are much of 2 ms at 4 Gb/s",
				three.Values("eaten")[1])
		}
		r.Claim("no-deadlock", unfinished)
		r.Note("fewer-stale", "%.1f MB against %.1f in three gates, %.1f with tokens alone; with "+
			"other traffic controlled by tokens, too, the joint grant discarded none",
			one.Values("discarded").Mean()/1e6, three.Values("discarded").Mean()/1e6,
			r.Cell(toccAlone.String()).Values("discarded").Mean()/1e6)
		r.Claim("fewer-stale", one.Values("discarded").Mean()/(three.Values("discarded").Mean()+1))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "tokens", Title: "Tokens that were discarded, and read misses",
			Header: []string{"gates", "discarded (MB)", "read misses", "coefficient of variation"}}
		for _, c := range r.Cells() {
			t.Row(c.Name, c.Values("discarded").Mean()/1e6, c.Values("misses").Mean(),
				c.Values("variation").Mean())
		}
		return []figure.Figure{courseFigure(r, "goodput"), courseTable(r), t}
	},
}

// limiter is the part of a link that tokens leave to data.
func (c *course) limiter() (float64, error) {
	spec, err := tocc.Parse("unsch=0B")
	if err != nil {
		return 0, err
	}
	share, err := spec.Share(c.paths)
	return 1 - share, err
}

// underLimiter returns goodput over the tighter limit of a phase; the link's limit is without the
// share of tokens.
func underLimiter(p experiment.Pool, phase int) float64 {
	sum, n := 0., 0
	for _, s := range p.Seeds() {
		share := s.Values("share")[phase] // of min(v2, link)
		limit := phases[phase]
		link := (1 - limit.cross) * s.Values("limiter")[0]
		sum += share * min(limit.v2, 1-limit.cross) / min(limit.v2, link)
		n++
	}
	return sum / float64(n)
}
